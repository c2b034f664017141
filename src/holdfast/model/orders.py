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
    """Report when this task has nothing left to do."""

    task: TaskId
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAttempt:
    """Every task has ended: end what they left behind, judge, and close the journal."""

    why: str
    attempt: int = 1


Order = SendSignal | WatchIdle | EndAttempt
