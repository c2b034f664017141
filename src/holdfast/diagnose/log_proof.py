"""From logs alone, healthy is a claim that needs proof: somebody says that the job is over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from holdfast.diagnose.log_end_words import tells_end
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.unknown import are_empty
from holdfast.diagnose.unusual import unusual
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.findings import Diagnosis, Finding, Verdict
from holdfast.model.log_facts import LogsGiven
from holdfast.model.log_prefix import is_labelled, said_in
from holdfast.model.words import NOBODY_FINISHED, WHETHER_FINISHED, listed, seconds_text

TOGETHER_S = 20.0  # by which the logs of tasks that end together may end apart
LEADERS = (TaskId("chief", 0), TaskId("master", 0), TaskId("worker", 0), TaskId("rank", 0))


def with_log_proof(diagnosis: Diagnosis, evidence: Evidence) -> Diagnosis:
    """What logs alone may claim: only those are well who spoke, and of whom an end is proven."""
    if not any(evidence.of(LogsGiven)):
        return diagnosis
    proof = _LogProof(evidence)
    heard = tuple(task for task in diagnosis.healthy if task in proof.heard)
    unknown = (*diagnosis.unknown, *_unheard(evidence, proof, diagnosis.findings))
    if diagnosis.verdict is Verdict.SICK:
        return replace(diagnosis, healthy=heard, unknown=unknown)
    if diagnosis.verdict is Verdict.HEALTHY and not (why := proof.gap):
        return replace(diagnosis, healthy=heard, unknown=unknown)
    finished = {speaker.task for speaker in proof.finished}
    proven = tuple(task for task in heard if task in finished)
    if diagnosis.verdict is Verdict.CANNOT_TELL:
        return replace(diagnosis, healthy=proven, unknown=unknown)
    return replace(
        diagnosis,
        verdict=Verdict.CANNOT_TELL,
        healthy=proven,
        unknown=(why, *unknown),
        unusual=unusual(evidence),
    )


def _unheard(evidence: Evidence, proof: "_LogProof", findings: Sequence[Finding]) -> Iterator[str]:
    """The members of whom nothing was heard, unless a finding tells of them."""
    told = {finding.proof.culprit for finding in findings}
    told |= {echo.task for finding in findings for echo in finding.echoes}
    unheard = [task for task in evidence.tasks if task not in proof.heard | told]
    if are_empty(evidence):
        return  # that is said of all of them
    mute = [task for task in unheard if any(evidence.of(OutputEnded, task))]
    absent = [task for task in unheard if task not in mute]
    if mute:
        whose = "its log is" if len(mute) == 1 else "their logs are"
        yield f"how {listed(mute)} fared: {whose} empty"
    if absent and proof.nobodys:
        own = "its own" if len(absent) == 1 else "their own"
        yield f"how {listed(absent)} fared: no log is known to be {own}"
    elif absent:
        whom = "it" if len(absent) == 1 else "them"
        yield f"how {listed(absent)} fared: there is no log of {whom}"


@dataclass(frozen=True, slots=True)
class _Speaker:
    """A task by all its logs, or a log that is nobody's."""

    task: TaskId | None
    sources: tuple[str, ...]
    finished: bool
    step: int
    ended_s: float
    is_timed: bool  # whether its last lines tell when they were written

    @property
    def trains(self) -> bool:
        return self.task is None or self.task.role not in {"ps", "evaluator"}

    @property
    def name(self) -> str:
        return str(self.task or self.sources[0])


class _LogProof:
    """Who was heard, and who is known to have come to the end."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._ends = LogEnds(evidence)
        spoken = [ended for ended in evidence.of(OutputEnded) if ended.lines_total]
        self.nobodys = sorted({ended.source for ended in spoken if ended.task is None})
        self._owners = {ended.task for ended in spoken if ended.task}

    @cached_property
    def heard(self) -> set[TaskId]:
        """All tasks with a log, and those whose names stand before lines of a log of several."""
        said = (*self._evidence.of(LogLine), *self._evidence.of(TracebackSeen))
        heard = self._owners | {fact.task for fact in said if fact.task}
        for words in self._evidence.of(LastWords):
            if words.source in self.nobodys:
                labelled = is_labelled(words.lines)
                writers = (said_in(line, labelled=labelled).task for line in words.lines)
                heard |= {writer for writer in writers if writer}
        return heard

    @property
    def finished(self) -> list[_Speaker]:
        return [speaker for speaker in self._speakers if speaker.finished]

    @cached_property
    def gap(self) -> str:
        """What is missing for a proof that the job came to its end; empty where nothing is."""
        trainers = [speaker for speaker in self._speakers if speaker.trains]
        finished = [speaker for speaker in trainers if speaker.finished]
        going = [one for one in trainers if not one.finished and one.step >= 0]
        if _leads(finished, trainers) or (finished and not _left_behind(going, finished)):
            return ""
        if finished:
            return _left_open(_left_behind(going, finished))
        if going:
            return self._fell_silent(going)
        # Servers are stopped when the others are done.
        gap = f"{WHETHER_FINISHED}it finished: nothing in these logs says so"
        return "" if self.finished else gap

    def _fell_silent(self, going: Sequence[_Speaker]) -> str:
        began_s = self._evidence.began_unix_s()
        first_s, last_s = (pick(one.ended_s for one in going) for pick in (min, max))
        steps = sorted({one.step for one in going})
        when = within = ""
        if began_s and all(one.is_timed for one in going):
            when = f" at {datetime.fromtimestamp(began_s + last_s, UTC):%H:%M:%S}"
            if len(going) > 1:
                within = f", {_apart(last_s - first_s)}"
        at = f", at step {steps[0]}" if len(steps) == 1 else f", at steps {steps[0]} to {steps[-1]}"
        who = "all" if len(going) > 1 else going[0].name
        fell = "fell silent" if len(going) > 1 else "falls silent"
        return f"{NOBODY_FINISHED}{who} {fell}{when}{at}{within}"

    @cached_property
    def _speakers(self) -> list[_Speaker]:
        owned = [self._speaker(task, "") for task in sorted(self._owners)]
        others = [self._speaker(None, source) for source in self.nobodys]
        # What lies beside the logs of tasks counts where it tells of the training.
        return [*owned, *(one for one in others if not owned or one.finished or one.step >= 0)]

    def _speaker(self, task: TaskId | None, source: str) -> _Speaker:
        ended = [one for one in self._evidence.of(OutputEnded) if _is_of(one, task, source)]
        words = [one for one in self._evidence.of(LastWords) if _is_of(one, task, source)]
        last = max(words, key=lambda one: one.at_s, default=None)
        return _Speaker(
            task=task,
            sources=tuple(one.source for one in ended),
            finished=any(tells_end(self._evidence, one) for one in words),
            step=self._ends.last_step(task, source),
            ended_s=max(one.at_s for one in ended),
            is_timed=last is not None and any(map(_tells_time, last.lines)),
        )


def _is_of(fact: OutputEnded | LastWords, task: TaskId | None, source: str) -> bool:
    return fact.task == task if task else fact.task is None and fact.source == source


def _tells_time(line: str) -> bool:
    return said_in(line).at_unix_s is not None


def _leads(finished: Sequence[_Speaker], trainers: Sequence[_Speaker]) -> bool:
    """Whether the one that leads is at its end: the chief, or the log of a launcher."""
    tasks = {speaker.task for speaker in trainers}
    leader = next((task for task in LEADERS if task in tasks), None)
    nobodys = [speaker for speaker in trainers if speaker.task is None]
    if len(nobodys) == 1 and nobodys[0].finished:
        return True
    return leader is not None and any(speaker.task == leader for speaker in finished)


def _left_behind(going: Sequence[_Speaker], finished: Sequence[_Speaker]) -> list[_Speaker]:
    """Those who train on, or fall silent, at another time than somebody's end."""
    return [
        one
        for one in going
        if all(abs(one.ended_s - other.ended_s) > TOGETHER_S for other in finished)
    ]


def _left_open(behind: Sequence[_Speaker]) -> str:
    names = listed(speaker.name for speaker in behind)
    whose = "its log ends" if len(behind) == 1 else "their logs end"
    step = max(speaker.step for speaker in behind)
    return f"{WHETHER_FINISHED}{names} finished: {whose} at step {step}, and no end is told"


def _apart(seconds: float) -> str:
    return f"within {seconds_text(seconds)}" if seconds else "in the same second"
