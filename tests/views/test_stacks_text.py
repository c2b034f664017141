"""Stacks as a person reads them: in any window, and whatever is in them."""

from dataclasses import replace

import pytest

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
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
    return stacks_text(rounds, {}, {}, merge=merge, width=width, colour=False).splitlines()


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
    text = stacks_text([], unseen, {}, merge=True, width=80, colour=False)
    assert text.splitlines() == ["ps:0: it has ended", "nobody's Python stacks could be read"]
    assert stacks_shown([], unseen, {}) == {
        "schema": "holdfast.stacks/1",
        "rounds": [],
        "groups": [],
        "moved": {},
        "unknown": {"ps:0": "it has ended"},
        "activity": {},
    }


def process(pid: int, does: str, *, command: str = "", on: str = "") -> ProcessActivity:
    return ProcessActivity(pid=pid, parent=1, command=command, state="S", does=does, on=on)


def test_what_the_kernel_says_stands_beside_the_stacks_and_instead_of_them() -> None:
    child = replace(process(8, "sleeps", command="sleep 600"), parent=7)
    waits = process(7, "waits-for-child", on="pid 8 (sleep 600)")
    activity = {
        task: ActivitySeen(at_s=62.5, host="host-a", task=task, over_s=2.5, processes=processes)
        for task, processes in {
            TaskId("worker", 0): (process(5, "waits-for-thread"),),
            TaskId("worker", 1): (waits, child),
            TaskId("worker", 3): (waits, child, replace(child, pid=9)),
            TaskId("worker", 4): (),
        }.items()
    }
    unseen = {TaskId("worker", 3): "it may not be read", TaskId("worker", 4): "it is gone"}
    text = stacks_text(ROUNDS, unseen, activity, merge=True, width=200, colour=False)
    shown = [row for row in text.splitlines() if "by the kernel" in row]
    one = "process 7 waits for a child process: pid 8 (sleep 600), which sleeps"
    assert shown == [
        "  worker:0, by the kernel: process 5 waits for another thread",
        f"  worker:1, by the kernel: {one}",
        f"  worker:3, by the kernel: {one}; 1 more below it",
        "  worker:4, by the kernel: nothing could be seen of its processes",
    ]
    told = stacks_shown(ROUNDS, unseen, activity)["activity"]["worker:1"]
    assert told["over_s"] == 2.5
    assert told["processes"][1]["command"] == "sleep 600"


def test_heads_stand_out_on_a_terminal() -> None:
    text = stacks_text(ROUNDS, {}, {}, merge=True, width=100, colour=True)
    assert text.startswith("\x1b[1mworker:0 and worker:2")
