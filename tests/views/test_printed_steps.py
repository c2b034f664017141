"""The newest step, read from the ends of logs that grow."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.model.cluster import TaskId
from holdfast.views.printed_steps import TASKS_A_LOOK_MAX, PrintedSteps

TASK = TaskId("worker", 0)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    yield fd
    os.close(fd)


def looked(steps: PrintedSteps, log: int, at_s: float) -> list[int]:
    return [step for _, step in steps.look({TASK: {"out": log}}, at_s)]


def test_each_look_finds_what_was_printed_since(log: int) -> None:
    steps = PrintedSteps()
    assert looked(steps, log, 0.0) == []
    os.write(log, b"step 3\nstep 4\n")
    assert looked(steps, log, 0.5) == []  # not again so soon
    assert looked(steps, log, 1.0) == [4]
    assert looked(steps, log, 2.0) == []


def test_a_flood_does_not_hide_the_newest_step(log: int) -> None:
    steps = PrintedSteps()
    os.write(log, b"".join(b"step %d of a flood of lines\n" % number for number in range(100_000)))
    assert looked(steps, log, 0.0) == [99_999]


def test_who_starts_again_in_the_same_log_counts_from_nothing(log: int) -> None:
    steps = PrintedSteps()
    os.write(log, b"step 340\n")
    assert looked(steps, log, 0.0) == [340]
    os.write(log, b"step 341\n")  # not read before it died
    steps.begin_anew(TASK)
    assert looked(steps, log, 1.0) == []
    os.write(log, b"step 2\n")
    assert looked(steps, log, 2.0) == [2]


def test_all_tasks_have_their_turn(log: int) -> None:
    steps = PrintedSteps()
    os.write(log, b"step 5\n")
    streams = {TaskId("worker", index): {"out": log} for index in range(TASKS_A_LOOK_MAX + 3)}
    first = [task for task, _ in steps.look(streams, 0.0)]
    second = [task for task, _ in steps.look(streams, 0.1)]
    assert (len(first), len(second)) == (TASKS_A_LOOK_MAX, 3)
    assert {*first, *second} == set(streams)
