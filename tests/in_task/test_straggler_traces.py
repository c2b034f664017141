"""A trace of whoever keeps the others waiting: once, one at a time, and never of one who hangs."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.in_task.conftest import PLAIN, TRAINS, WORD_S_MAX, Job

from holdfast.diagnose import catalogue
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Finding, Proof
from holdfast.model.watch_facts import TaskSlow, TaskStill, TraceTaken
from holdfast.supervisor.straggler_traces import StragglerTraces

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
HERE: Any = {"at_s": 1.0, "host": "host-a"}


def found(task: TaskId, name: str = "straggler") -> Finding:
    slow = TaskSlow(task=task, factor=9.0, step_s=0.9, others_s=0.1, **HERE)
    proof = Proof(facts=(slow,), says="it is slow", culprit=task)
    return Finding(name=name, cause=catalogue()[name], proof=proof)


class Desk:
    """Who tells findings, and whoever takes traces because of them."""

    def __init__(self, job: Job, seconds: float = 0.3) -> None:
        self.job = job
        self.facts: list[Fact] = []
        self.told: list[str] = []
        self.most = 0  # questions that were there at one time
        self.traces = StragglerTraces(job.run_dir, seconds=seconds, where=lambda: HERE)
        self.traces.facts = lambda: self.facts
        self._tell = self.traces.hearing(lambda finding, _: self.told.append(finding.name))

    def tell(self, *findings: Finding) -> None:
        for finding in findings:
            self._tell(finding, Evidence(self.facts))

    def look(self) -> None:
        for batch in self.traces.look():
            self.facts += batch
        self.most = max(self.most, len(list(self.job.folder.glob("*.request.json*"))))

    def until(self, condition: Callable[[], bool]) -> None:
        until_s = time.monotonic() + WORD_S_MAX
        while not condition():
            assert time.monotonic() < until_s, self.facts
            self.look()
            time.sleep(0.02)

    @property
    def taken(self) -> list[TraceTaken]:
        return [fact for fact in self.facts if isinstance(fact, TraceTaken)]


def test_a_straggler_is_traced_once_while_it_trains_on(job: Job) -> None:
    process = job.start(TRAINS)
    desk = Desk(job)
    out = job.run_dir.path / "logs" / "worker-0.1.out"
    desk.until(lambda: bool(out.read_text()))  # it has imported TensorFlow
    desk.tell(found(W0))
    assert desk.told == ["straggler"]
    desk.until(lambda: bool(desk.taken))
    (taken,) = desk.taken
    assert (taken.task, taken.error, taken.seconds) == (W0, "", 0.3)
    assert taken.folder == str(job.run_dir.path / "profile" / "worker-0")
    assert list((job.run_dir.path / "profile").glob("worker-0/plugins/profile/*/*.xplane.pb"))
    assert taken.to_step >= taken.from_step >= 0
    desk.tell(found(W0))
    for _ in range(5):
        desk.look()
    assert desk.taken == [taken]
    assert not list(job.folder.glob("profile.*"))
    assert process.poll() is None


def test_two_stragglers_are_traced_one_after_the_other(job: Job) -> None:
    for task in ("worker:0", "worker:1"):
        job.start(PLAIN, task)
    desk = Desk(job)
    desk.tell(found(W1), found(W0))
    desk.until(lambda: len(desk.taken) == 2)
    assert [fact.task for fact in desk.taken] == [W1, W0]
    assert all("has not loaded TensorFlow" in fact.error for fact in desk.taken)
    assert desk.most == 1


def test_who_is_suspected_of_hanging_is_left_alone(job: Job) -> None:
    desk = Desk(job)
    still = TaskStill(task=W0, still_s=9.0, usual_s=1.0, sign="steps", **HERE)
    desk.facts.append(still)
    desk.tell(found(W0))
    desk.look()
    assert desk.most == 0
    desk.facts.clear()
    desk.look()
    assert desk.most == 1
    desk.facts.append(still)  # it was asked, and then it stood still
    desk.look()
    assert not list(job.folder.iterdir())
    assert desk.taken == []


@pytest.mark.parametrize(("name", "seconds"), [("straggler", 0.0), ("livelock", 0.3)])
def test_nobody_else_is_traced_and_nobody_unasked(job: Job, name: str, seconds: float) -> None:
    desk = Desk(job, seconds)
    desk.tell(found(W0, name))
    desk.look()
    assert (desk.told, list(job.folder.iterdir())) == ([name], [])
