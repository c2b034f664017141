"""What an agent can be told to do. An order names its attempt."""

from dataclasses import dataclass

from holdfast.model.cluster import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSignal:
    task: TaskId
    signal: int
    why: str
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchIdle:
    """Report, again and again, while this task has had nothing to do for `idle_s` or longer."""

    task: TaskId
    idle_s: float
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAttempt:
    """Every task has ended: end what they left behind, judge, and close the journal."""

    why: str
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TellStart:
    """Write down where the start-up stands: who waits for whom, and whether it is given up."""

    missing: tuple[TaskId, ...]
    waiting: tuple[TaskId, ...]
    says: str
    over_s: float | None = None  # the deadline that has passed
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveStacks:
    """Write down what these tasks are doing: they are about to be ended."""

    tasks: tuple[TaskId, ...]
    why: str
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAgain:
    """Start a task that has ended once more, at its old address."""

    task: TaskId
    why: str
    attempt: int = 1


Order = SendSignal | WatchIdle | TellStart | SaveStacks | StartAgain | EndAttempt
