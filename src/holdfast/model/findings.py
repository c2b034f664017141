"""A cause, the facts that prove it here, and what follows from it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Remedy
from holdfast.model.wording import Words

# Exit codes of `holdfast run` that causes choose.
TRY_AGAIN_CODE = 75  # an infrastructure fault, safe to retry
HUNG_CODE = 124  # nobody failed, and nothing goes on


class Confidence(StrEnum):
    """How sure we are. A `guess` never leads to an action."""

    CERTAIN = "certain"
    HIGH = "high"
    LIKELY = "likely"
    GUESS = "guess"


class Severity(StrEnum):
    """How grave it is. A notice says who keeps whom waiting, and accuses nobody."""

    ERROR = "error"  # it cannot end by itself, or has lasted beyond the job's own limit
    WARNING = "warning"
    NOTICE = "notice"
    INFO = "info"


GRAVITY = (Severity.INFO, Severity.NOTICE, Severity.WARNING, Severity.ERROR)


class Verdict(StrEnum):
    HEALTHY = "healthy"
    SICK = "sick"
    CANNOT_TELL = "cannot-tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Why a cause holds here: the telling facts, and one sentence for a human."""

    facts: tuple[Fact, ...]
    says: str
    culprit: TaskId | None
    confidence: Confidence = Confidence.CERTAIN
    do: tuple[str, ...] = ()  # what to do here, with this run's own names and numbers
    seen_at: TaskId | None = None  # who noticed, when that is not the culprit
    exit_code: int = 1  # of `holdfast run`, when this is the root cause
    severity: Severity | None = None  # None: as the cause has it
    place: str = ""  # what is to blame where that is no task: a host, a device, a file and line
    symptom: bool = False  # only the aftermath of something: a root cause elsewhere explains it
    remedy: Remedy | None = None  # None: as the cause has it
    survived: bool = False  # it took a worker, and the training was done without that one

    @property
    def since_s(self) -> float:
        return min(fact.at_s for fact in self.facts)


Detect = Callable[[Evidence], Iterator[Proof]]


def never(evidence: Evidence) -> Iterator[Proof]:
    """For a cause that only words can prove."""
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One way a job fails. Its name, page and fixture all follow from its file name."""

    family: str  # one of FAMILIES
    remedy: Remedy
    detect: Detect = never
    hears: tuple[Pattern, ...] = ()  # log lines that agents must ship for it
    words: tuple[Words, ...] = ()  # what proves it where logs are all there is
    where: tuple[Pattern, ...] = ()  # lines near its words: a group `culprit` says where it is
    do: tuple[str, ...] = ()  # what to do, when words alone have proven it
    echo: bool = False  # an aftermath by nature: a root cause elsewhere explains it
    yields_to: frozenset[str] = frozenset()  # causes that say the same of a task, more exactly
    preview: bool = True  # reported, never acted on, until the bench has proven it
    severity: Severity = Severity.ERROR
    last_resort: bool = False  # silent where any other cause is proven of the same task
    general: bool = False  # it only tells who stands where: any other cause explains it better
    leaves_doubt: bool = False  # its warning says that the job may have failed: not healthy
    live: bool = False  # seen in running tasks: once these are ended, what held until then counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """A task that suffers from another task's fault."""

    task: TaskId
    cause: str
    says: str
    since_s: float
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A cause proven here, with its culprit and its echoes."""

    name: str
    cause: Cause
    proof: Proof
    echoes: tuple[Echo, ...] = ()

    @property
    def severity(self) -> Severity:
        return self.proof.severity or self.cause.severity

    @property
    def remedy(self) -> Remedy:
        return self.proof.remedy or self.cause.remedy

    @property
    def is_of_standstill(self) -> bool:
        """Whether it says why something stands still: slowness and load do not."""
        return self.severity is Severity.ERROR or self.proof.exit_code == HUNG_CODE

    @property
    def is_echo(self) -> bool:
        """Whether it is an aftermath: a root cause elsewhere explains it."""
        return self.cause.echo or self.proof.symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusual:
    """A line that stands out where no cause is proven: where to begin reading."""

    task: TaskId | None
    file: str
    line: int  # 0: nobody counted
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What we know, what is well, and what we could not learn. The root cause comes first."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    healthy: tuple[TaskId, ...] = ()
    unknown: tuple[str, ...] = ()
    broken: Mapping[str, str]  # rules that crashed: they prove nothing, and hide nothing
    unusual: tuple[Unusual, ...] = ()  # of logs that prove no cause, and are not well
    taken_back: tuple[FindingTakenBack, ...] = ()  # told while it ran, and no longer true
