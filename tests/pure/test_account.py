"""What each recovery was, and what it cost, by the journal."""

from dataclasses import replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, Fact, TaskExited, TaskStarted
from holdfast.model.recovery_facts import CheckpointChosen, RemedyDecided
from holdfast.model.watch_facts import StepsSeen
from holdfast.recover.account import recoveries

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)


def began(attempt: int, unix_s: float) -> AttemptStarted:
    return AttemptStarted(
        at_s=0,
        host="a",
        attempt=attempt,
        began_unix_s=unix_s,
        tasks=("worker:0", "worker:1"),
        holdfast="1",
    )


def started(task: TaskId, at_s: float, attempt: int = 1) -> TaskStarted:
    return TaskStarted(at_s=at_s, host="a", task=task, attempt=attempt, pid=7)


def ended(task: TaskId, at_s: float, signal: int = 9) -> TaskExited:
    return TaskExited(at_s=at_s, host="a", task=task, signal=signal)


def stepped(task: TaskId, at_s: float, attempt: int) -> StepsSeen:
    return StepsSeen(at_s=at_s, host="a", task=task, attempt=attempt, step=1, source="log")


RELAUNCH = RemedyDecided(
    at_s=112.5, host="a", remedy="relaunch", reason="why", culprit=W1, wait_s=5.0
)
FAILED: list[Fact] = [
    began(1, 1000.0),
    started(W0, 0.1),
    started(W1, 0.2),
    ended(W1, 100.0),
    ended(W0, 112.0, 15),
]
CHOSEN = CheckpointChosen(at_s=113.0, host="a", path="/ckpt-7", step=7)
AGAIN: list[Fact] = [
    began(2, 1118.0),
    started(W0, 0.5, 2),
    started(W1, 0.75, 2),
    stepped(W0, 20.75, 2),
    stepped(W1, 21.0, 2),
]


def test_the_time_of_a_relaunch_is_split_into_its_parts() -> None:
    (one,) = recoveries([*FAILED, RELAUNCH, CHOSEN, *AGAIN])
    assert one.seconds == {
        "detect": 12.0,
        "decide": 0.5,
        "wait": 5.0,
        "start": 1.25,
        "restore": 20.0,
    }
    assert one.chosen == CHOSEN


def test_what_the_journal_does_not_tell_is_missing() -> None:
    (no_steps,) = recoveries([*FAILED, RELAUNCH, *AGAIN[:3]])
    assert list(no_steps.seconds) == ["detect", "decide", "wait", "start"]
    (nobody_up,) = recoveries([*FAILED, RELAUNCH, AGAIN[0]])
    assert list(nobody_up.seconds) == ["detect", "decide", "wait"]
    (not_begun,) = recoveries([*FAILED, RELAUNCH])
    assert list(not_begun.seconds) == ["detect", "decide"]
    assert not_begun.chosen is None
    (nobody_failed,) = recoveries([began(1, 1000.0), RELAUNCH])
    assert nobody_failed.seconds == {}


def test_a_restart_is_counted_from_the_failure_of_that_task() -> None:
    restart = replace(RELAUNCH, remedy="restart", tasks=("worker:1",), at_s=100.5, wait_s=0.0)
    back = [started(W1, 101.0), stepped(W0, 102.0, 1), stepped(W1, 105.0, 1), started(W1, 300.0)]
    (one,) = recoveries([*FAILED[:4], restart, *back])
    assert one.seconds == {"detect": 0.5, "decide": 0.0, "wait": 0.0, "start": 0.5, "restore": 4.0}
    assert one.chosen is None


def test_what_was_not_done_took_no_time() -> None:
    (told,) = recoveries([*FAILED, replace(RELAUNCH, dry_run=True)])
    assert list(told.seconds) == ["detect", "decide"]
    (stopped,) = recoveries([*FAILED, replace(RELAUNCH, remedy="stop")])
    assert list(stopped.seconds) == ["detect", "decide"]


def test_a_relaunch_that_is_decided_at_once_has_to_end_the_others_first() -> None:
    at_once = replace(RELAUNCH, at_s=100.5, since_s=100.0)
    (one,) = recoveries([*FAILED[:4], at_once, FAILED[4], *AGAIN])
    assert one.seconds == {
        "detect": 0.5,
        "decide": 0.0,
        "end": 11.5,
        "wait": 0.0,
        "start": 6.75,
        "restore": 20.0,
    }


def test_a_hang_is_known_when_it_is_first_waited_for() -> None:
    wait = replace(RELAUNCH, remedy="wait", at_s=102.5, since_s=100.0, wait_s=5.0, cause="stopped")
    change = replace(wait, remedy="restart", tasks=("worker:1",), at_s=107.5, wait_s=3.0)
    gone = [ended(W1, 108.5), started(W1, 111.0), ended(W1, 200.0)]
    waited, done = recoveries([*FAILED[:3], wait, change, *gone])
    assert waited.seconds == {"detect": 2.5, "decide": 0.0}
    assert done.seconds == {"detect": 2.5, "decide": 5.0, "end": 1.0, "wait": 2.0, "start": 0.5}


def test_a_clock_that_was_set_back_meanwhile_hides_no_start() -> None:
    (one,) = recoveries([*FAILED, RELAUNCH, CHOSEN, began(2, 1100.0), *AGAIN[1:]])
    assert (one.seconds["start"], one.seconds["restore"]) == (0.0, 20.0)
