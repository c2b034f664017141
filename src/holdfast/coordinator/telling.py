"""What was told of a job, what became graver, and what is taken back because it no longer holds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.findings import GRAVITY, Confidence, Diagnosis, Finding, Severity
from holdfast.model.watch_facts import StepsSeen

GENERAL = "keeps-waiting"  # the finding that any other one explains better
AGAIN_S = 60.0  # a warning that comes and goes is told again after this
VAGUE_S, VAGUE_S_MAX = 5.0, 20.0  # the same, of notices that know little, for each that was no more
GONE_S = 3.0  # one judgement may miss what the next one finds again

Tell = Callable[[Finding, Evidence], None]
Key = tuple[str, TaskId | None, str]  # a cause, its culprit, and the place of one that has none


@dataclass(slots=True)
class _Told:
    severity: Severity
    says: str
    first_s: float
    held_s: float  # when it was last found to hold
    general: bool
    vague: bool = False
    family: str = ""


class Telling:
    """Tells each finding once, and again when it is graver than it was told to be."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told: dict[Key, _Told] = {}
        self._heard_s = 0.0
        self._quiet_until_s: dict[Key, float] = {}  # what was taken back, and comes and goes
        self._vague_s = -VAGUE_S  # the pause before the next vague notice, of whomever
        self._vague_until_s = 0.0

    def recall(self, facts: Iterable[Fact], at_s: float) -> None:
        """What another supervisor has told, and not taken back."""
        for fact in facts:
            if isinstance(fact, FindingTakenBack):
                self._told.pop(_key_of(fact), None)
            elif isinstance(fact, FindingTold):
                key = _key_of(fact)
                first_s = self._told[key].first_s if key in self._told else fact.at_s
                self._told[key] = _Told(
                    Severity(fact.severity), fact.says, first_s, at_s, fact.cause == GENERAL
                )

    @property
    def is_to_be_taken_back(self) -> bool:
        """Whether something did not hold in the last judgement, and may be taken back soon."""
        return any(told.held_s < self._heard_s for told in self._told.values())

    def hear(
        self, evidence: Evidence, diagnosis: Diagnosis, where: dict[str, Any], *, at_the_end: bool
    ) -> list[Fact]:
        """What is new by this judgement, as facts. At the end also what was only likely."""
        at_s = self._heard_s = where["at_s"]
        facts: list[Fact] = []
        holds = {_key(one): one for one in diagnosis.findings}
        for key, finding in holds.items():
            known = self._told.get(key)
            if known is not None:
                known.held_s = at_s
            if known is not None and _gravity(known.severity) >= _gravity(finding.severity):
                continue
            is_root = finding is diagnosis.findings[0]
            quiet = at_s < self._quiet_until_s.get(key, 0.0)
            quiet = quiet or (_is_vague(finding) and at_s < self._vague_until_s)
            if quiet and not at_the_end and finding.severity is not Severity.ERROR:
                continue
            if at_the_end or _is_worth_telling(finding, evidence, is_root=is_root):
                self._tell(finding, evidence)
                facts.append(_told_fact(finding, where))
                first_s = known.first_s if known else at_s
                general = finding.cause.general
                self._told[key] = _Told(
                    finding.severity,
                    finding.proof.says,
                    first_s,
                    at_s,
                    general,
                    _is_vague(finding),
                    finding.cause.family,
                )
        return [*facts, *self._taken_back(evidence, holds, where, at_the_end=at_the_end)]

    def _taken_back(
        self,
        evidence: Evidence,
        holds: dict[Key, Finding],
        where: dict[str, Any],
        *,
        at_the_end: bool,
    ) -> list[Fact]:
        at_s = where["at_s"]
        reasons = [one for one in holds.values() if one.is_of_standstill]
        named = {one.proof.culprit for one in reasons}
        named |= {echo.task for one in reasons for echo in one.echoes}
        failed = {one.cause.family for one in holds.values() if one.severity is Severity.ERROR}
        facts: list[Fact] = []
        for key, known in list(self._told.items()):
            patience_s = 0.0 if known.general or at_the_end else GONE_S
            if key in holds or at_s - known.held_s < patience_s:
                continue
            del self._told[key]
            cause, task, place = key
            self._quiet_until_s[key] = at_s + (0.0 if known.general else AGAIN_S)
            if known.vague:  # the first one costs nothing
                self._vague_s = min(self._vague_s + VAGUE_S, VAGUE_S_MAX)
                self._vague_until_s = at_s + self._vague_s
            is_explained = task in named and known.general
            came_true = known.severity is Severity.WARNING and known.family in failed
            if is_explained or came_true or known.severity is Severity.INFO:
                continue
            facts.append(
                FindingTakenBack(
                    **{**where, "task": task},
                    cause=cause,
                    severity=str(known.severity),
                    says=known.says,
                    why=_why_over(evidence, task, known),
                    held_s=round(at_s - known.first_s, 3),
                    place=place,
                )
            )
        return facts


def _told_fact(finding: Finding, where: dict[str, Any]) -> FindingTold:
    return FindingTold(
        **{**where, "task": finding.proof.culprit},
        cause=finding.name,
        severity=str(finding.severity),
        says=finding.proof.says,
        confidence=str(finding.proof.confidence),
        waiting=tuple(str(echo.task) for echo in finding.echoes),
        place=_key(finding)[2],
    )


def _is_vague(finding: Finding) -> bool:
    """Whether it says that somebody stands still, and not who keeps whom waiting.

    On a starved host that comes and goes, of one task after another.
    """
    likely = finding.proof.confidence is Confidence.LIKELY
    return likely and finding.cause.general and finding.severity is Severity.NOTICE


def _key(finding: Finding) -> Key:
    proof = finding.proof
    return (finding.name, proof.culprit, "" if proof.culprit else proof.place)


def _key_of(fact: FindingTold | FindingTakenBack) -> Key:
    return (fact.cause, fact.task, fact.place)


def _gravity(severity: Severity) -> int:
    return GRAVITY.index(severity)


def _why_over(evidence: Evidence, task: TaskId | None, known: _Told) -> str:
    """What shows that it no longer holds."""
    since_s = known.first_s
    exited: TaskExited | None = evidence.exit_of(task) if task else None
    if exited is not None and exited.at_s < since_s:
        return f"nobody waits for {task} any longer"
    if exited is not None:
        ended = f"with exit code {exited.exit_code}" if exited.exit_code is not None else "by now"
        return f"{task} has ended {ended}"
    if not known.general and known.severity is not Severity.ERROR:
        return "it was no longer so"
    steps = [fact for fact in evidence.of(StepsSeen, task) if fact.at_s >= since_s]
    if task is not None and steps:
        return f"{task} goes on, at step {steps[-1].step}"
    return f"{task} goes on" if task else "the job goes on"


def _is_worth_telling(finding: Finding, evidence: Evidence, *, is_root: bool) -> bool:
    """What is sure; of one that has failed, also what is likely. No aftermath of another cause."""
    failed = evidence.failure_of(finding.proof.culprit) is not None
    enough = {Confidence.CERTAIN, Confidence.HIGH}
    if finding.cause.general or (failed and is_root):
        enough.add(Confidence.LIKELY)
    is_told = is_root or not finding.cause.echo
    worth = finding.proof.confidence in enough and finding.severity is not Severity.INFO
    return worth and is_told
