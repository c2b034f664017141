"""A process that stays after its program stands in what Python calls at its end."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskExited, TracebackSeen
from holdfast.model.leaving import FRAMES_MAX, SOON_S, cannot_leave
from holdfast.model.watch_facts import StacksSeen, TaskMoves, TaskStill, ThreadStack

W1 = TaskId("worker", 1)
HERE: Any = {"host": "a", "task": W1}
SHUTDOWN = "lib/python3.11/threading.py:1590 _shutdown: lock.acquire()"
IN_PROGRAM = "/home/user/train.py:9 <module>: main()"


def looks(*frames: str, first_s: float = 28.0) -> list[Fact]:
    threads = (ThreadStack(thread=1, frames=frames),)
    return [
        StacksSeen(at_s=at_s, pid=1, threads=threads, **HERE) for at_s in (first_s, first_s + 2)
    ]


def still(since_s: float = 20.0) -> TaskStill:
    return TaskStill(at_s=29.0, still_s=29.0 - since_s, usual_s=1.0, sign="steps", **HERE)


@pytest.mark.parametrize(
    ("facts", "seen_frames", "stuck"),
    [
        ([*looks(SHUTDOWN), still()], (IN_PROGRAM,), True),
        ([*looks(SHUTDOWN), still()], ("<frozen runpy>:198 _run", "x:9 _run", IN_PROGRAM), True),
        ([*looks(SHUTDOWN), still()], ("lib/python3.11/threading.py:1 run",), False),
        ([*looks(SHUTDOWN), still()], (), False),
        ([*looks(SHUTDOWN), still(20.0 + SOON_S + 0.1)], (IN_PROGRAM,), False),
        (looks(SHUTDOWN), (IN_PROGRAM,), False),
        ([still()], (IN_PROGRAM,), False),
        ([*looks(IN_PROGRAM, SHUTDOWN), still()], (IN_PROGRAM,), False),
        ([*looks("/home/user/train.py:3 at_end: wait()"), still()], (IN_PROGRAM,), False),
        ([*looks(*[SHUTDOWN] * (FRAMES_MAX + 1)), still()], (IN_PROGRAM,), False),
        ([*looks(), still()], (IN_PROGRAM,), False),
        (
            [*looks(SHUTDOWN), still(), TaskExited(at_s=40, exit_code=1, **HERE)],
            (IN_PROGRAM,),
            False,
        ),
    ],
    ids=[
        *("at its end", "with -m", "of a thread", "of nobody", "it went on", "it moves"),
        *("unseen", "in the program", "the user's own", "cut", "unread", "it has left"),
    ],
)
def test_who_cannot_leave(facts: list[Fact], seen_frames: tuple[str, ...], *, stuck: bool) -> None:
    seen = TracebackSeen(at_s=20.0, exception="ValueError", message="", frames=seen_frames, **HERE)
    found = cannot_leave(Evidence([seen, *facts]), W1, seen)
    assert (found is not None) is stuck
    if found:
        assert str(found.at) == "threading.py:1590"


def test_late_looks_of_ours_do_not_make_it_go_on() -> None:
    """What is told of it again leaves out the time in which nobody looked."""
    frames = (IN_PROGRAM,)
    seen = TracebackSeen(at_s=20.0, exception="ValueError", message="", frames=frames, **HERE)
    last = TaskStill(at_s=140.0, still_s=110.0, usual_s=1.0, sign="steps", **HERE)
    facts = [seen, still(), *looks(SHUTDOWN), *looks(SHUTDOWN, first_s=136.0), last]
    assert cannot_leave(Evidence(facts), W1, seen)
    went_on = TaskMoves(at_s=29.5, still_s=9.0, **HERE)
    assert cannot_leave(Evidence([*facts, went_on]), W1, seen) is None
