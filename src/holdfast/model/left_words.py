"""Which exception ended a task: what its program wrote down itself, beside what its log shows."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from holdfast.model.facts import TaskExited, TracebackSeen
from holdfast.model.told_facts import ExceptionLeft

# What was not certainly the end of the task's own process counts when the end came so soon after.
SOON_S = 10.0
SAME_LENGTH = 120  # of two messages, so much is enough to know them as one


def ended_with(
    left: Iterable[ExceptionLeft],
    logged: TracebackSeen | None,
    *,
    pids: AbstractSet[int],
    exited: TaskExited | None,
) -> TracebackSeen | None:
    """The exception that ended a task. Its own word counts most: a log may have been parsed wrong.

    One exception is one fact, however many wrote it down.
    """
    newest_first = sorted(left, key=lambda one: -one.at_s)
    own = [one for one in newest_first if one.ended_its_process and one.pid in pids]
    if own:
        return own[0]
    if logged is not None:
        return next((one for one in newest_first if is_same(one, logged)), logged)
    soon = [one for one in newest_first if exited and is_soon(one, exited)]
    return min(soon, key=lambda one: (not one.ended_its_process, one.guarded), default=None)


def is_same(left: ExceptionLeft, logged: TracebackSeen) -> bool:
    """Whether a log shows the very exception that the program wrote down."""
    return left.exception == logged.exception and _head(left.message) == _head(logged.message)


def is_soon(seen: TracebackSeen, exited: TaskExited) -> bool:
    """Whether its task ended a moment after the program wrote it down."""
    return isinstance(seen, ExceptionLeft) and 0 <= exited.at_s - seen.at_s <= SOON_S


def _head(message: str) -> str:
    return message.strip().partition("\n")[0][:SAME_LENGTH]
