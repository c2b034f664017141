"""Real processes that step, block, loop and wait; time passes as fast as the looks say."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.agent.watch_progress import ProgressLook, lateness_s
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import StepsSeen, TaskMoves, TaskSlow, TaskStill
from holdfast.probes.process import stat_of
from holdfast.probes.rhythm import rhythm_of

FactKind = TypeVar("FactKind", bound=Fact)
WAKES_A_LOOK = 5
TRAINS = """
import os, sys, threading, time
lock, step, folder = threading.Lock(), 0, sys.argv[1]
lock.acquire()
while True:
    step += 1
    print("step", step, "loss 0.5", flush=True)
    time.sleep(0.003)
    for _ in range(5 if os.path.exists(folder + "/slow") else 0):
        time.sleep(0.003)
    if os.path.exists(folder + "/block"):
        lock.acquire()
    while os.path.exists(folder + "/loop"):
        pass
"""


class Job:
    """Tasks that train, and one who looks at them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress = ProgressLook("host-a")
        self.tasks: dict[TaskId, Watched] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.at_s = 100.0

    def start(self, task: TaskId, program: str = TRAINS) -> Path:
        home = self.folder / f"{task.role}-{task.index}"
        home.mkdir()
        with (home / "out").open("wb") as out:
            command = [sys.executable, "-c", program, str(home)]
            process = subprocess.Popen(command, stdout=out)
        self.processes.append(process)
        fd = os.open(home / "out", os.O_RDONLY)
        self.tasks[task] = Watched(
            task=task, pid=process.pid, address="", streams={"out": fd}, main=process.pid
        )
        return home

    def look(self, looks: int, *, every_s: float = 1.0) -> list[Fact]:
        facts: list[Fact] = []
        for _ in range(looks):
            self.at_s += every_s
            for watched in self.tasks.values():
                stat = stat_of(watched.pid)
                assert stat is not None
                watched.state, watched.cpu_s = stat.state, stat.cpu_s
            facts += self.progress.look(self.tasks, self.at_s)
        return facts

    def train(self, looks: int) -> list[Fact]:
        """Looks between which every task has woken a few times."""
        facts: list[Fact] = []
        for _ in range(looks):
            for watched in self.tasks.values():
                until_woken(watched.pid, WAKES_A_LOOK)
            facts += self.look(1)
        return facts

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for watched in self.tasks.values():
            os.close(watched.streams["out"])


LOCKSTEP = """
import multiprocessing, time
def quick(together):
    while True:
        together.wait()
def slow(together):
    while True:
        time.sleep(0.04)
        while not together.n_waiting:  # however long it takes the quick one to get a core
            time.sleep(0.04)
        together.wait()
together = multiprocessing.Barrier(2)
tasks = [multiprocessing.Process(target=each, args=(together,)) for each in (quick, slow)]
for task in tasks:
    task.start()
print(*(task.pid for task in tasks), flush=True)
tasks[0].join()
"""


def until_woken(pid: int, times: int) -> None:
    first = rhythm_of(pid)
    while (now := rhythm_of(pid)) and first and now.wakes < first.wakes + times:
        os.sched_yield()


def until(pid: int, is_true: Callable[[str, str], bool]) -> None:
    while (now := rhythm_of(pid)) and not is_true(now.state, now.waits_in):
        os.sched_yield()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path)
    yield found
    found.close()


WORKER = TaskId("worker", 0)
OTHER = TaskId("worker", 1)


def of(kind: type[FactKind], facts: list[Fact]) -> list[FactKind]:
    return [fact for fact in facts if isinstance(fact, kind)]


def test_a_healthy_task_tells_its_steps_now_and_then_and_nothing_else(job: Job) -> None:
    job.start(WORKER)
    facts = job.train(70)
    assert {type(fact) for fact in facts} == {StepsSeen}
    first, paced, _, last = of(StepsSeen, facts)
    assert (first.step_s, paced.step_s > 0) == (0.0, True), "its pace as soon as it is known"
    assert last.step > first.step >= 1
    assert last.step_s > 0
    assert (first.source, first.task, first.host) == ("log", WORKER, "host-a")
    assert job.progress.suspects() == set()


def test_a_task_that_blocks_is_told_after_five_seconds_and_every_five_seconds(job: Job) -> None:
    home = job.start(WORKER)
    job.train(20)
    (home / "block").touch()
    until(job.tasks[WORKER].pid, lambda _, waits_in: waits_in.startswith("futex"))
    job.look(1)
    assert of(TaskStill, job.look(2)) == []
    assert job.progress.suspects() == set()
    assert of(TaskStill, job.look(3)) == []
    assert job.progress.suspects() == {WORKER}, "time to see what it does, not yet to tell"
    told = of(TaskStill, job.look(20))
    assert job.progress.suspects() == {WORKER}
    assert len(told) == 4
    assert [round(fact.still_s) for fact in told] == [6, 11, 16, 21]
    (first, *_) = told
    assert (first.sign, first.cpu_share) == ("main thread", 0.0)
    assert first.usual_s == pytest.approx(1.0, rel=0.05)


def test_what_is_told_of_a_rest_follows_the_last_step_before_it(job: Job) -> None:
    home = job.start(WORKER)
    job.train(20)
    (home / "block").touch()
    until(job.tasks[WORKER].pid, lambda _, waits_in: waits_in.startswith("futex"))
    steps = of(StepsSeen, job.look(20))
    last = int((home / "out").read_text().split()[-3])
    assert [fact.step for fact in steps] == [last], "once, however often its rest is told"


def test_a_task_that_loops_stands_still_by_its_steps(job: Job) -> None:
    home = job.start(WORKER)
    job.train(20)
    pid = job.tasks[WORKER].pid
    (home / "loop").touch()
    job.look(1)
    first = stat_of(pid)
    told: list[TaskStill] = []
    while first and not told and job.at_s < 300:
        # A look for every tick on a core: time goes by as the task burns it.
        while (now := stat_of(pid)) and now.cpu_s < first.cpu_s + 0.25:
            os.sched_yield()
        first = stat_of(pid)
        told = of(TaskStill, job.look(1))
    (still,) = told
    assert still.sign == "steps"
    assert still.cpu_share > 0.1
    (home / "loop").unlink()
    assert of(TaskMoves, job.train(8))
    assert job.progress.suspects() == set()


def test_a_task_that_is_stopped_and_goes_on_has_not_learned_that_pause(job: Job) -> None:
    job.start(WORKER)
    job.train(20)
    pid = job.tasks[WORKER].pid
    for _ in range(2):
        os.kill(pid, signal.SIGSTOP)
        until(pid, lambda state, _: state == "T")
        still = of(TaskStill, job.look(12))
        assert round(still[0].still_s) <= 7
        os.kill(pid, signal.SIGCONT)
        (moves,) = of(TaskMoves, job.train(20))
        assert moves.still_s >= 10


def test_an_observer_that_was_stopped_accuses_nobody(job: Job) -> None:
    home = job.start(WORKER)
    job.train(20)
    assert of(TaskStill, job.look(1, every_s=60.0)) == []
    (home / "block").touch()
    until(job.tasks[WORKER].pid, lambda _, waits_in: waits_in.startswith("futex"))
    job.look(1)
    assert of(TaskStill, job.look(1, every_s=30.0)) == []


def test_a_server_is_no_suspect(job: Job) -> None:
    job.start(TaskId("ps", 0), "import threading; threading.Event().wait()")
    assert job.look(100) == []
    assert job.progress.suspects() == set()


def test_one_that_never_began_is_worth_a_look_and_told_ever_more_rarely(job: Job) -> None:
    job.start(WORKER, "import threading; threading.Event().wait()")
    until(job.tasks[WORKER].pid, lambda _, waits_in: waits_in.startswith("futex"))
    told = of(TaskStill, job.look(60))
    assert job.progress.suspects() == {WORKER}
    told += of(TaskStill, job.look(140))
    assert {fact.usual_s for fact in told} == {0.0}
    assert len(told) <= 8
    assert job.progress.suspects() == set(), "it may wait for work for hours"


def test_a_task_that_ends_is_forgotten(job: Job) -> None:
    job.start(WORKER)
    job.train(5)
    gone = job.tasks.pop(WORKER)
    assert job.look(2) == []
    os.close(gone.streams["out"])


def test_one_that_is_started_again_has_told_no_step_by_what_was_written_before_it(
    job: Job,
) -> None:
    home = job.start(WORKER)
    assert of(StepsSeen, job.train(3))
    first = job.tasks.pop(WORKER)
    job.processes[-1].kill()
    job.processes[-1].wait()
    job.look(1)
    with (home / "out").open("ab") as out:
        waits = [sys.executable, "-c", "import signal; signal.pause()"]
        again = subprocess.Popen(waits, stdout=out)
    job.processes.append(again)
    job.tasks[WORKER] = Watched(
        task=WORKER, pid=again.pid, address="", streams=first.streams, main=again.pid
    )
    assert of(StepsSeen, job.look(3)) == []
    with (home / "out").open("ab") as out:
        out.write(b"step 7 loss 0.5\n")
    (told,) = of(StepsSeen, job.look(1))
    assert told.step == 7, "what it tells itself counts, though it is less"


def test_the_last_step_of_a_task_that_ended_is_told_by_its_output(job: Job) -> None:
    home = job.start(WORKER)
    first: list[StepsSeen] = []
    while not first:
        first = of(StepsSeen, job.train(1))
    watched = job.tasks.pop(WORKER)
    job.processes[-1].kill()
    job.processes[-1].wait()
    with (home / "out").open("ab") as out:
        out.write(b"\nstep 4711 loss 0.5\n")
    (last,) = of(StepsSeen, list(job.progress.last_step(WORKER, watched, job.at_s)))
    assert (last.step, last.source) == (4711, first[0].source)
    os.close(watched.streams["out"])


def test_who_wakes_ten_times_less_often_than_the_others_is_slow(job: Job) -> None:
    # A step of one for ten of the other, on a starved machine, too.
    fifo = job.folder / "go"
    os.mkfifo(fifo)
    opened = f"go = os.open({str(fifo)!r}, os.O_RDWR)\nwhile True:\n    step += 1"
    began = "while True:\n    step += 1"
    rests = "    time.sleep(0.003)\n    for"
    quick = TRAINS.replace(rests, "    step % 10 or os.write(go, b'.')\n" + rests)
    slower = TRAINS.replace(rests, "    os.read(go, 1)\n    for")
    job.start(WORKER, quick.replace(began, opened))
    job.start(OTHER, slower.replace(began, opened))
    facts = job.train(60)
    told = of(TaskSlow, facts)
    assert {fact.task for fact in told} == {OTHER}
    assert all(fact.factor > 4 for fact in told)
    assert of(TaskStill, facts) == []


def test_steps_that_became_much_slower_are_worth_a_look_at_stacks_for_a_while(job: Job) -> None:
    home = job.start(WORKER)
    job.train(40)
    assert job.progress.slowed() == set()
    (home / "slow").touch()
    seen: list[set[TaskId]] = []
    for _ in range(90):
        job.train(1)
        seen.append(job.progress.slowed())
    assert {WORKER} in seen
    assert seen[-1] == set()


def test_in_lockstep_the_slow_one_is_the_one_that_does_not_wait(job: Job) -> None:
    parent = subprocess.Popen([sys.executable, "-c", LOCKSTEP], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    try:
        for task, pid in zip((WORKER, OTHER), pids, strict=True):
            job.tasks[task] = Watched(task=task, pid=pid, address="", streams={}, main=pid)
        told: list[TaskSlow] = []
        while not told and job.at_s < 1000:
            time.sleep(0.031)  # looks come at their own pace, not at that of the steps
            told = of(TaskSlow, job.look(1))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
        job.tasks.clear()
    assert [fact.task for fact in told] == [OTHER]
    assert told[0].factor > 2


SAVES = """
import sys, time
folder, step = sys.argv[1], 0
events = open(folder + "/events.out.tfevents.1", "w")
while True:
    step += 10
    open(folder + f"/ckpt-{step}.index", "w").close()
    time.sleep(0.003)
"""


def test_one_that_tells_no_steps_is_followed_by_its_checkpoints(job: Job) -> None:
    job.start(WORKER, SAVES)
    told = of(StepsSeen, job.train(40))
    assert {fact.source for fact in told} == {"checkpoint"}
    assert told[-1].step > told[0].step > 0


def test_a_usual_look_after_some_that_hurried_is_not_late() -> None:
    assert lateness_s(1.5, [0.4] * 15) == 0.0
    assert lateness_s(4.0, [0.4] * 15) == 3.0
    assert lateness_s(4.0, [2.5] * 15) == 1.5
    assert lateness_s(1.5, []) == 0.0
