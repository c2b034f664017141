"""Which lock a thread waits for, who holds it, and whether they hold up each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.model.stacks import Doing, Frame, doing, frames_of
from holdfast.model.watch_facts import StacksSeen, ThreadStack

_TAKES = ".acquire("


@dataclass(frozen=True, slots=True)
class LockWait:
    """A thread that waits for a lock, as its source names it, and where."""

    thread: ThreadStack
    lock: str  # empty: no plain lock, but a queue, an event, a thread's end
    at: Frame


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that a thread holds, as its source names it, and where it took it."""

    lock: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


def waits_of(seen: StacksSeen) -> list[LockWait]:
    """Every thread that waits for another one of its process."""
    return [_wait(thread) for thread in seen.threads if doing(thread) is Doing.LOCK]


def _wait(thread: ThreadStack) -> LockWait:
    frames = frames_of(thread)
    inner = frames[-1]
    if inner.is_library:
        # Inside of a queue or a condition: where it was asked for is what its author knows.
        at = next((frame for frame in reversed(frames) if not frame.is_library), inner)
        return LockWait(thread, "", at)
    return LockWait(thread, _lock_in(inner.code), inner)


def _lock_in(code: str) -> str:
    """`lock` of `with lock:` and of `lock.acquire()`; empty where the line names several."""
    if code.startswith(("with ", "async with ")):
        found = list(_entered(code))
        return found[0] if len(found) == 1 else ""
    before, taken, _ = code.partition(_TAKES)
    words = before.replace("=", " ").replace("(", " ").split()
    return words[-1] if taken and words else ""


def held_by(thread: ThreadStack) -> Iterator[Held]:
    for text in thread.holds:
        place, _, code = text.partition(": ")
        file, _, line = place.rpartition(":")
        for lock in _entered(code):
            if line.isascii() and line.isdigit():
                yield Held(lock, file, int(line))


def _entered(code: str) -> Iterator[str]:
    """What a `with` line enters: `a` and `b` of `with a, b as c:`."""
    items = code.removeprefix("async ").removeprefix("with ").partition(":")[0]
    for item in items.split(","):
        if lock := item.partition(" as ")[0].strip():
            yield lock


def cycle_in(waits: Sequence[LockWait]) -> list[tuple[LockWait, Held]]:
    """Threads that wait for each other in a ring, each with where it took what the one before
    it wants; a single one waits for itself. Locks are known by their names in one file."""
    for first in waits:
        ring: list[tuple[LockWait, Held]] = []
        wait: LockWait | None = first
        while wait is not None and len(ring) < len(waits):
            found = _holder(wait, waits)
            if found is None:
                break
            ring.append(found)
            if found[0] is first:
                return ring
            wait = found[0]
    return []


def _holder(wait: LockWait, waits: Sequence[LockWait]) -> tuple[LockWait, Held] | None:
    for other in waits:
        for held in held_by(other.thread):
            if wait.lock and (held.lock, held.file) == (wait.lock, wait.at.file):
                return other, held
    return None
