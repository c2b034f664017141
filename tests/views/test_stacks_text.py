"""Stacks as a person reads them: in any window, and whatever is in them."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import StacksSeen, ThreadStack
from holdfast.views.sanitise import cells
from holdfast.views.stacks_text import stacks_shown, stacks_text

MAIN = "/srv/job/train.py:96 <module>: main()"
STEP = "/srv/job/train.py:48 train: loss = train_step(batches)"
CALL = "site-packages/tensorflow/python/eager/context.py:1688 Context.call_function: outputs = x("
EXECUTE = "site-packages/tensorflow/python/eager/execute.py:53 quick_execute: tensors = TFE_Py_Ex("
LOCK = "/srv/job/data.py:88 refill: with lock_a:"
VICTIM = ThreadStack(thread=1, frames=(MAIN, STEP, CALL, EXECUTE), blocked="waker")
CULPRIT = ThreadStack(
    thread=2, frames=(MAIN, LOCK), name="MainThread", holds=("/srv/job/data.py:80: with lock_b:",)
)
LOADER = ThreadStack(thread=3, frames=("/srv/job/data.py:70 load: with lock_b:",))


def look(at_s: float, stacks: dict[str, tuple[ThreadStack, ...]]) -> list[StacksSeen]:
    return [
        StacksSeen(at_s=at_s, host="host-a", task=TaskId.parse(task), pid=7, threads=threads)
        for task, threads in stacks.items()
    ]


STACKS = {"worker:0": (VICTIM,), "worker:1": (CULPRIT, LOADER), "worker:2": (VICTIM,)}
ROUNDS = [look(60.0, STACKS), look(62.5, STACKS)]


def rows(rounds: list[list[StacksSeen]], *, merge: bool = True, width: int = 100) -> list[str]:
    return stacks_text(rounds, {}, merge=merge, width=width, colour=False).splitlines()


def test_those_at_one_place_are_shown_once_and_the_odd_one_after_them() -> None:
    assert rows(ROUNDS) == [
        "worker:0 and worker:2: executes TensorFlow's step (did not move)",
        "    quick_execute at site-packages/tensorflow/python/eager/execute.py:53",
        "      tensors = TFE_Py_Ex(",
        "    … 1 frame of libraries",
        "    train at /srv/job/train.py:48",
        "      loss = train_step(batches)",
        "    <module> at /srv/job/train.py:96",
        "      main()",
        "",
        "worker:1: waits for another thread (did not move)",
        "  MainThread: waits for another thread",
        "    refill at /srv/job/data.py:88",
        "      with lock_a:",
        "    <module> at /srv/job/train.py:96",
        "      main()",
        "    holds /srv/job/data.py:80: with lock_b:",
        "  thread 3: waits for another thread",
        "    load at /srv/job/data.py:70",
        "      with lock_b:",
        "",
        "2 looks at 3 tasks, 2.5 s apart, by py-spy; no task was stopped for it",
    ]


def test_without_merging_every_task_has_all_its_frames() -> None:
    shown = rows(ROUNDS[:1], merge=False)
    assert sum(row.startswith("worker:") for row in shown) == 3
    assert sum("Context.call_function" in row for row in shown) == 2
    assert shown[-1] == "one look at 3 tasks, by py-spy; no task was stopped for it"


def test_who_moved_is_told() -> None:
    moved = {**STACKS, "worker:2": (ThreadStack(thread=1, frames=(MAIN, STEP)),)}
    assert rows([look(60.0, moved), ROUNDS[1]])[0].endswith("step (worker:2 moved)")
    alone = [look(60.0, {"worker:2": moved["worker:2"]}), look(62.5, {"worker:2": (VICTIM,)})]
    assert rows(alone)[0].endswith("(moved)")
    assert "2 looks at 1 task," in rows(alone)[-1]


@pytest.mark.parametrize("width", [20, 33, 60, 200])
def test_no_row_is_wider_than_the_window(width: int) -> None:
    for merge in (True, False):
        assert all(cells(row) <= width for row in rows(ROUNDS, merge=merge, width=width))


def test_what_strangers_wrote_is_made_plain() -> None:
    evil = ThreadStack(
        thread=1, frames=("/srv/\x1b[2Ja.py:3 f\u202e: print('\x07')",), name="\x1b]0;x"
    )
    shown = rows([look(1.0, {"worker:0": (evil, evil)})], merge=False)
    assert all(row.isprintable() for row in shown)


def test_nobody_and_those_who_were_not_seen_are_told() -> None:
    unseen = {TaskId("ps", 0): "it has ended"}
    text = stacks_text([], unseen, merge=True, width=80, colour=False)
    assert text.splitlines() == ["ps:0: it has ended", "nobody could be looked at"]
    assert stacks_shown([], unseen) == {
        "schema": "holdfast.stacks/1",
        "rounds": [],
        "groups": [],
        "moved": {},
        "unknown": {"ps:0": "it has ended"},
    }


def test_heads_stand_out_on_a_terminal() -> None:
    text = stacks_text(ROUNDS, {}, merge=True, width=100, colour=True)
    assert text.startswith("\x1b[1mworker:0 and worker:2")
