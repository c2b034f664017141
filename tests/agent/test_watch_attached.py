"""Processes that somebody else has started, watched for some seconds."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.agent import watch_attached
from holdfast.agent.watch_attached import WATCH_S, AttachedTasks
from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.watch_facts import StacksSeen, TaskSampled, TaskWaits
from holdfast.probes.process import stat_of
from holdfast.probes.stacks import NoPySpy

WAITS, POLLS = TaskId("worker", 0), TaskId("worker", 1)
ASLEEP_S_MAX = 30.0
PROGRAMS = {
    WAITS: "import sys; print('up', flush=True); sys.stdin.read()",
    POLLS: "import time; print('up', flush=True)\nwhile True: time.sleep(0.2)",
}


@pytest.fixture
def pids() -> Iterator[dict[TaskId, int]]:
    started = {
        task: subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for task, program in PROGRAMS.items()
    }
    for one in started.values():
        assert one.stdout is not None
        assert one.stdout.readline() == b"up\n"
        until_s = time.monotonic() + ASLEEP_S_MAX
        while not _sleeps(one.pid):
            assert time.monotonic() < until_s, "it did not come to rest"
            time.sleep(0.01)
    yield {task: one.pid for task, one in started.items()}
    for one in started.values():
        one.kill()
        one.communicate()


def _sleeps(pid: int) -> bool:
    """What it did before it came to rest must not be taken for a wake-up."""
    found = stat_of(pid)
    return found is not None and found.state == "S"


def of(facts: list[Fact], kind: type[Any]) -> dict[TaskId | None, Any]:
    return {fact.task: fact for fact in facts if isinstance(fact, kind)}


def test_who_does_nothing_is_told_with_where_all_stand(pids: dict[TaskId, int]) -> None:
    began_s = time.monotonic()
    tasks = AttachedTasks("h", lambda: round(time.monotonic() - began_s, 3))
    facts = tasks.watch(pids)
    told = of(facts, TaskWaits)
    assert told.keys() == {WAITS}
    assert told[WAITS].waits_s >= WATCH_S
    assert told[WAITS].at_least
    counted = of(facts, TaskSampled)
    assert counted[WAITS].main_wakes == 0
    assert counted[POLLS].main_wakes > 0
    assert of(facts, ActivitySeen)[WAITS].processes[0].does == "reads"
    assert of(facts, StacksSeen).keys() == set(pids)
    stood = [fact for fact in facts if isinstance(fact, StacksSeen)]

    later = tasks.watch_on(pids)
    assert of(later, TaskWaits)[WAITS].waits_s > told[WAITS].waits_s
    again = [fact for fact in later if isinstance(fact, StacksSeen)]
    assert again == stood, "nobody else waits: nobody is asked again where it stands"


def test_another_process_of_a_task_begins_anew(pids: dict[TaskId, int]) -> None:
    began_s = time.monotonic()
    tasks = AttachedTasks("h", lambda: round(time.monotonic() - began_s, 3))
    assert of(tasks.watch({WAITS: pids[WAITS]}), TaskWaits)
    assert not of(tasks.watch_on({WAITS: pids[POLLS]}), TaskWaits)


def test_nobody_here_takes_no_time() -> None:
    began_s = time.monotonic()
    assert AttachedTasks("h", lambda: 0.0).watch({}) == []
    assert time.monotonic() - began_s < WATCH_S


def test_without_py_spy_the_kernel_alone_is_asked_and_that_is_said(
    pids: dict[TaskId, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise NoPySpy("py-spy is not installed", do="install it")

    monkeypatch.setattr(watch_attached, "take_round", missing)
    began_s = time.monotonic()
    facts = AttachedTasks("h", lambda: round(time.monotonic() - began_s, 3)).watch(pids)
    (blind,) = (fact for fact in facts if isinstance(fact, ProbeBlind))
    assert "py-spy is not installed" in blind.why
    assert of(facts, TaskWaits).keys() == {WAITS}
    assert of(facts, ActivitySeen)[POLLS].processes[0].does == "sleeps"
