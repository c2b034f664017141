"""Stacks on request: taken by a child process, in rounds, and not too often."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.watch_stacks import AGAIN_S_MIN, WANTED_S_MAX, StackLook
from holdfast.agent.watched import Watched
from holdfast.logdir.run_dir import create_run_dir
from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.stack_rounds import APART_S
from holdfast.model.stacks import Doing, doing
from holdfast.model.watch_facts import StacksSeen

LOCKED = (
    "import threading\nlock = threading.Lock()\nwith lock:\n  print(flush=True)\n  with lock: 1"
)
LOOPING = "print(flush=True)\nwhile True: pass"
WAIT_S = 40.0
LOOK_S_MAX = 0.5  # on a busy machine; alone it takes milliseconds
STUCK, BUSY = TaskId("worker", 0), TaskId("worker", 1)


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[dict[TaskId, Watched]]:
    """A task that is deadlocked, and one that runs in circles."""
    processes = {}
    for task, code in ((STUCK, LOCKED), (BUSY, LOOPING)):
        file = tmp_path / f"{task.role}{task.index}.py"
        file.write_text(code)
        process = subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE)
        processes[task] = process
        assert process.stdout is not None
        process.stdout.readline()
    yield {
        task: Watched(task=task, pid=process.pid, address="", streams={}, main=process.pid)
        for task, process in processes.items()
    }
    for process in processes.values():
        process.kill()
        process.communicate()


@pytest.fixture
def look(tmp_path: Path) -> Iterator[StackLook]:
    with create_run_dir(tmp_path / "run") as run_dir:
        run_dir.write_json("run.json", {})
    stacks = StackLook(run_dir=str(tmp_path / "run"), zero_s=time.monotonic(), host="host-a")
    yield stacks
    stacks.close()


def heard(look: StackLook, tasks: dict[TaskId, Watched], at_s: float) -> list[Fact]:
    """The stacks that come of what was wanted, while no look waits for anything."""
    facts: list[Fact] = []
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        began_s = time.monotonic()
        facts += (one for one in look.look(tasks, at_s) if not isinstance(one, ActivitySeen))
        assert time.monotonic() - began_s < LOOK_S_MAX
        if not look.is_busy:
            break
        time.sleep(0.02)
    return facts


def test_all_tasks_of_a_request_are_seen_in_each_round_and_the_page_is_kept(
    look: StackLook, tasks: dict[TaskId, Watched], tmp_path: Path
) -> None:
    look.want([STUCK, BUSY], "no step for 9 s", 100.0)
    facts = heard(look, tasks, 100.0)
    seen = [fact for fact in facts if isinstance(fact, StacksSeen)]
    assert [fact.task for fact in seen] == [STUCK, BUSY] * 3, "a third round: one of them runs"
    assert seen[2].at_s - seen[0].at_s >= APART_S
    assert seen[0].at_s == seen[1].at_s
    assert {doing(fact.threads[0]) for fact in seen[::2]} == {Doing.LOCK}
    assert {fact.why for fact in seen} == {"no step for 9 s"}
    (page,) = (tmp_path / "run" / "stacks").iterdir()
    assert page.stat().st_mode & 0o777 == 0o600
    assert "worker:0 did not move" in page.read_text()


def test_two_rounds_are_enough_when_nobody_runs(
    look: StackLook, tasks: dict[TaskId, Watched]
) -> None:
    look.want([STUCK], "still", 100.0)
    assert len(heard(look, tasks, 100.0)) == 2


def test_an_unchanged_situation_is_looked_at_less_and_less(
    look: StackLook, tasks: dict[TaskId, Watched]
) -> None:
    at_s = 100.0
    for pause_s in (0.0, AGAIN_S_MIN, 2 * AGAIN_S_MIN):
        until_s = at_s + pause_s
        while at_s < until_s - 0.5:
            at_s += 1.0 if until_s - at_s > 1.5 else until_s - at_s - 0.5
            look.want([STUCK], "still", at_s)
            assert heard(look, tasks, at_s) == [], "not yet"
        at_s = until_s
        look.want([STUCK], "still", at_s)
        assert len(heard(look, tasks, at_s)) == 2
    look.want([STUCK, BUSY], "still", at_s + 3.0)
    assert heard(look, tasks, at_s + 3.0), "somebody new is looked at soon"


def test_another_spell_of_trouble_is_looked_at_soon(
    look: StackLook, tasks: dict[TaskId, Watched]
) -> None:
    look.want([STUCK], "still", 100.0)
    assert heard(look, tasks, 100.0)
    look.want([STUCK], "still", 101.0)
    assert heard(look, tasks, 101.0) == [], "the same spell"
    look.want([STUCK], "still", 104.5)
    assert heard(look, tasks, 104.5), "nobody wanted anything for a while"
    look.want([STUCK], "still", 108.0)
    assert heard(look, tasks, 108.0) == [], "the next one waits longer"
    look.want([STUCK], "still", 109.0)
    assert heard(look, tasks, 109.0)


def test_a_new_suspect_is_looked_at_soon_although_all_were_seen_just_before(
    look: StackLook, tasks: dict[TaskId, Watched]
) -> None:
    look.want([STUCK, BUSY], "still", 100.0, suspects=[BUSY])
    assert heard(look, tasks, 100.0)
    look.want([STUCK, BUSY], "still", 102.5, suspects=[BUSY])
    assert heard(look, tasks, 102.5) == [], "the same suspects"
    look.want([STUCK, BUSY], "still", 104.5, suspects=[BUSY, STUCK])
    assert heard(look, tasks, 104.5)


def test_what_was_wanted_long_ago_or_of_nobody_is_not_taken(
    look: StackLook, tasks: dict[TaskId, Watched]
) -> None:
    look.want([STUCK], "still", 100.0)
    assert list(look.look(tasks, 100.0 + WANTED_S_MAX + 1)) == []
    look.want([], "still", 200.0)
    look.want([TaskId("ps", 3)], "still", 200.0)
    assert list(look.look(tasks, 200.0)) == []
    assert not look.is_busy


def test_that_nobody_could_look_is_told_once(
    look: StackLook, tasks: dict[TaskId, Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks[STUCK].main = os.getpid() + (1 << 23)  # nobody has that number
    look.want([STUCK], "still", 100.0)
    (blind,) = heard(look, tasks, 100.0)
    assert isinstance(blind, ProbeBlind)
    assert "could be read" in blind.why
    look.want([STUCK], "still", 200.0)
    assert heard(look, tasks, 200.0) == []


def test_closing_ends_the_child(look: StackLook, tasks: dict[TaskId, Watched]) -> None:
    look.want([STUCK], "still", 100.0)
    list(look.look(tasks, 100.0))
    assert look.is_busy
    look.close()
    assert not look.is_busy
