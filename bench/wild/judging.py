"""Judges what was said of a wild job: who was named, when, and whether anybody was wronged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.wild.composing import INTERRUPTED, Job
from bench.wild.grammar import Kind
from bench.wild.truth import Truth

TOLD, TAKEN_BACK = "told", "taken-back"
WORTH_READING = ("error", "warning", "notice")
# They name a task that suffers and accuse nobody, unless they are errors.
ABOUT_THE_MACHINE = frozenset(
    {
        *("cpu-starved", "memory-pressure", "host-too-small", "low-limits", "clock-skew"),
        *("agent-lost", "disk-nearly-full", "memory-nearly-full"),
    }
)
AT_ONCE_S = 0.05  # findings told together
CLOCK_S = 0.2  # between a task's note and what the journal dates
WATCH_S, LONG_WATCH_S = 25.0, 60.0
LONG_STEP_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A word of Holdfast while the job ran."""

    at_s: float  # Unix time
    severity: str
    cause: str
    culprits: tuple[str, ...]  # tasks; several only of the start-up, which names all it misses
    says: str = ""
    what: str = TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one job: a line of the results file."""

    seed: int
    line: str
    program: str
    kind: str
    way: str
    load: str
    took_s: float = 0.0
    broken: str = ""  # the bench itself went wrong, and nothing is judged
    wrong: list[str] = field(default_factory=list)  # accusations
    silent: str = ""  # why it counts as silent
    warned: list[str] = field(default_factory=list)  # about a healthy job, no error
    first: str = ""
    first_right: bool | None = None
    notice_s: float | None = None
    reported: str = ""
    report_right: bool | None = None
    verdict: str = ""
    exit_code: int | None = None
    crashed: str = ""  # another task, by itself: nobody composed that, and no bar counts it
    busy: float = 0.0  # share of all cores, by anybody, from the fault to the end

    @property
    def is_fine(self) -> bool:
        right = self.first_right is not False and self.report_right is not False
        return right and not (self.broken or self.wrong or self.silent)


def row_of(job: Job, **more: Any) -> Row:
    return Row(
        seed=job.seed,
        line=job.line,
        program=job.program,
        kind=str(job.kind),
        way=job.way,
        load=job.load,
        **more,
    )


def watch_s(job: Job) -> float:
    """How long nothing may be said, from when the others could have gone on."""
    calm = job.load == "none" and job.pace_s < LONG_STEP_S and job.phase != "start"
    return WATCH_S if calm else LONG_WATCH_S


def judge(
    job: Job,
    truth: Truth | None,
    said: Sequence[Said],
    report: Mapping[str, Any],
    *,
    exit_code: int | None,
    took_s: float,
    ended_s: float = 0.0,
    crashed: Sequence[str] = (),
) -> Row:
    """`crashed`: other tasks that died of a signal by themselves, while the job ran."""
    verdict = str(report.get("verdict", ""))
    told = [word for word in said if tells(word)]
    ends = {"exit_code": exit_code, "took_s": round(took_s, 1), "verdict": verdict}
    if not report:
        return row_of(job, broken="there is no report", **ends)
    if crashed and job.kind is not Kind.DIES:
        return _beside_a_crash(job, told, report, crashed, ends)
    if not job.is_faulty:
        return _healthy(job, told, report, ends)
    if truth is None:
        wrong = [_words(word) for word in told if word.severity == "error"]
        return row_of(job, broken="what was chosen never happened", wrong=wrong, **ends)
    if truth.is_over:
        return row_of(job, broken="what was chosen did not last", **ends)
    first, seconds, is_right = _first(job, truth, said)
    left_open = _left_open(job, report)
    if left_open and seconds is None and first is None:
        seconds, is_right = max(0.0, ended_s - truth.go_on_s), True
    found = [one for one in report["findings"] if _counts(one["severity"], one["cause"])]
    top = found[0] if found else None
    return row_of(
        job,
        wrong=[*_wrong_words(job, truth, told), *_wrong_findings(job, found)],
        silent=_silent(job, seconds, report),
        first=_words(first) if first else left_open or "nothing",
        first_right=is_right,
        notice_s=None if seconds is None else round(seconds, 1),
        reported=_finding_words(top) if top else left_open or "nothing",
        report_right=culprits_of(job, top) == (job.chosen,) if top else bool(left_open),
        **ends,
    )


def culprits_of(job: Job, finding: Mapping[str, Any]) -> tuple[str, ...]:
    """Tasks; where a place is to blame (a disk, a line), the chosen task if it is spoken of."""
    culprit = str(finding.get("culprit") or "")
    if culprit in job.tasks or culprit.partition(":")[0] == "evaluator":
        return (culprit,)
    return (job.chosen,) if job.chosen in str(finding.get("says")) else ()


def _left_open(job: Job, report: Mapping[str, Any]) -> str:
    """An honest `cannot tell why`, of a task that ended without a word: it names the task."""
    if report["verdict"] != "cannot-tell" or job.chosen in report.get("healthy", ()):
        return ""
    return next((text for text in report.get("unknown", ()) if job.chosen in text), "")


def tells(word: Said) -> bool:
    """Whether it says anything of a task but how busy the machine is."""
    return word.what == TOLD and _counts(word.severity, word.cause)


def _counts(severity: str, cause: str) -> bool:
    return severity == "error" or (severity in WORTH_READING and cause not in ABOUT_THE_MACHINE)


def _healthy(job: Job, told: Sequence[Said], report: Mapping[str, Any], ends: Any) -> Row:
    errors = [_words(word) for word in told if word.severity == "error"]
    errors += [
        f"report: {_finding_words(one)}" for one in report["findings"] if one["severity"] == "error"
    ]
    warned = [_words(word) for word in told if word.severity == "warning"]
    if ends["verdict"] != "healthy" and not errors:
        warned.append(f"verdict {ends['verdict']}")
    failed = ends["exit_code"] != 0 and job.way != INTERRUPTED and not errors
    broken = f"a healthy job ended with {ends['exit_code']}" if failed else ""
    return row_of(job, wrong=errors, warned=warned, broken=broken, **ends)


def _beside_a_crash(
    job: Job,
    told: Sequence[Said],
    report: Mapping[str, Any],
    crashed: Sequence[str],
    ends: Any,
) -> Row:
    """A framework may abort one of its own. That must be told, and nobody else be accused."""
    found = report["findings"]
    named = {task for word in told for task in word.culprits}
    named |= {task for one in found for task in culprits_of(job, one)}
    untold = [task for task in crashed if task not in named]
    may_be_named = {*crashed, *((job.chosen,) if job.may_be_error else ())}
    accused = [(word.culprits, _words(word)) for word in told if word.severity == "error"]
    accused += [
        (culprits_of(job, one), f"report: {_finding_words(one)}")
        for one in found
        if one["severity"] == "error"
    ]
    return row_of(
        job,
        crashed=", ".join(crashed),
        wrong=[words for culprits, words in accused if not may_be_named.issuperset(culprits)],
        silent=f"nobody said that {', '.join(untold)} crashed" if untold else "",
        **ends,
    )


def _first(job: Job, truth: Truth, said: Sequence[Said]) -> tuple[Said | None, float | None, bool]:
    """The first word about a task, the seconds until the chosen one was named, was it right."""
    standing: set[str] = set()  # what was told before, and still holds
    after: list[Said] = []
    for word in sorted(said, key=lambda word: word.at_s):
        if word.at_s >= truth.fault_s - CLOCK_S:
            after.append(word)
        elif tells(word):
            standing.update(word.culprits)
        else:
            standing.difference_update(word.culprits)
    named = [word for word in after if tells(word) and word.culprits]
    if job.chosen in standing:
        return (named[0] if named else None), 0.0, True
    if not named:
        return None, None, False
    together = [word for word in named if word.at_s - named[0].at_s <= AT_ONCE_S]
    is_right = all(job.chosen in word.culprits for word in together)
    right = [word.at_s for word in named if job.chosen in word.culprits]
    return named[0], max(0.0, right[0] - truth.go_on_s) if right else None, is_right


def _silent(job: Job, seconds: float | None, report: Mapping[str, Any]) -> str:
    if seconds is None:
        return "the task was not named while it ran"
    if seconds > watch_s(job):
        return f"named only after {seconds:.0f} s"
    is_told = job.chosen in report.get("done", {}).get("lost", ())
    return "the report calls it healthy" if report["verdict"] == "healthy" and not is_told else ""


def _wrong_words(job: Job, truth: Truth, told: Iterable[Said]) -> list[str]:
    found = []
    for word in told:
        if word.severity != "error":
            continue
        if word.at_s < truth.fault_s - CLOCK_S:
            found.append(f"before anything happened: {_words(word)}")
        elif word.culprits and job.chosen not in word.culprits:
            found.append(f"a healthy task: {_words(word)}")
        elif not job.may_be_error:
            found.append(f"too early for an error: {_words(word)}")
    return found


def _wrong_findings(job: Job, found: Iterable[Mapping[str, Any]]) -> list[str]:
    wrong = []
    for one in found:
        if one["severity"] != "error":
            continue
        culprits = culprits_of(job, one)
        if culprits and job.chosen not in culprits:
            wrong.append(f"a healthy task, in the report: {_finding_words(one)}")
        elif not job.may_be_error:
            wrong.append(f"an error, in the report: {_finding_words(one)}")
    return wrong


def _words(word: Said) -> str:
    return f"{word.severity}[{word.cause}] {', '.join(word.culprits) or 'nobody'}"


def _finding_words(one: Mapping[str, Any]) -> str:
    return f"{one['severity']}[{one['cause']}] {one['culprit']}"
