"""Real processes that write for moments: who shares a file or a folder is seen, and nobody else."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.watch_writers import CPU_S_MAX, WritersLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import FileWritten, FolderWritten

pytestmark = pytest.mark.timeout(60)
W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
WITHIN_S = 20.0
# Opens, writes and closes, again and again; {lock} comes after the opening.
WRITES = """
import fcntl, os, sys, time
path = sys.argv[1]
while True:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        {lock}
        file.write(b"x")
        time.sleep(0.02)
    if "_temp" in path:
        os.remove(path)
        os.rmdir(os.path.dirname(path))
    time.sleep(0.01 + os.getpid() % 7 * 0.003)
"""
FREE = WRITES.format(lock="pass")
LOCKED = WRITES.format(lock="fcntl.flock(file, fcntl.LOCK_EX)")
READS = """
import sys, time
while True:
    with open(sys.argv[1], "rb") as file:
        time.sleep(0.02)
"""
HOLDS = """
import sys, time
file = open(sys.argv[1], "ab")
time.sleep(600)
"""


class Job:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writers = WritersLook("host-a", but=str(folder / "run"))
        self.tasks: dict[TaskId, Watched] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.began_s = time.monotonic()
        self.facts: list[Fact] = []

    def start(self, task: TaskId, program: str, name: str) -> None:
        command = [sys.executable, "-c", program, str(self.folder / name)]
        process = subprocess.Popen(command, cwd=self.folder)
        self.processes.append(process)
        self.tasks[task] = Watched(
            task=task,
            pid=process.pid,
            address="",
            streams={},
            pids=(process.pid,),
            main=process.pid,
        )
        self.writers.begin(task, self.tasks[task], self.at_s)

    @property
    def at_s(self) -> float:
        return time.monotonic() - self.began_s

    def look_for(self, seconds: float, *, enough: int = 10_000) -> list[Fact]:
        """As the watcher does: a look a second, and whatever is heard in between."""
        until_s = self.at_s + seconds
        while self.at_s < until_s and len(self.facts) < enough:
            self.facts += self.writers.look(self.tasks, self.at_s)
            due_s = self.at_s + 1.0
            while self.at_s < due_s and len(self.facts) < enough:
                if select.select([self.writers.fd], [], [], max(0.0, due_s - self.at_s))[0]:
                    self.facts += self.writers.hear(self.tasks, self.at_s)
        return self.facts

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        os.close(self.writers.fd)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path.resolve())
    yield found
    found.end()


def of_files(facts: list[Fact]) -> list[FileWritten]:
    return [fact for fact in facts if isinstance(fact, FileWritten)]


def until_beside(job: Job) -> dict[TaskId | None, tuple[str, ...]]:
    until_s = job.at_s + WITHIN_S
    while job.at_s < until_s:
        job.look_for(0.5)
        beside = {fact.task: fact.beside for fact in of_files(job.facts) if fact.beside}
        if len(beside) > 1:
            return beside
    return {}


def test_two_who_write_one_file_for_moments_are_seen(job: Job) -> None:
    job.start(W0, FREE, "all.h5")
    job.start(W1, FREE, "all.h5")
    assert until_beside(job) == {W0: ("worker:1",), W1: ("worker:0",)}
    assert {fact.path for fact in of_files(job.facts)} == {str(job.folder / "all.h5")}


def test_a_second_writer_is_seen_beside_one_who_holds_the_file_open(job: Job) -> None:
    job.start(W0, HOLDS, "all.h5")
    job.start(W1, FREE, "all.h5")
    assert until_beside(job) == {W0: ("worker:1",), W1: ("worker:0",)}


def test_who_locks_the_file_is_not_told(job: Job) -> None:
    job.start(W0, LOCKED, "all.h5")
    job.start(W1, LOCKED, "all.h5")
    assert all(not fact.beside for fact in of_files(job.look_for(4.0)))


def test_readers_and_writers_of_other_files_are_no_second_writers(job: Job) -> None:
    (job.folder / "0.h5").touch()
    job.start(W0, FREE, "0.h5")
    job.start(W1, FREE, "1.h5")
    job.start(TaskId("worker", 2), READS, "0.h5")
    facts = of_files(job.look_for(4.0, enough=10))
    assert {(fact.task, fact.path, fact.beside) for fact in facts} <= {
        (W0, str(job.folder / "0.h5"), ()),
        (W1, str(job.folder / "1.h5"), ()),
    }


def test_checkpoints_of_a_moment_show_who_writes_them(job: Job) -> None:
    for task in (W0, W1):
        name = f"logs/ckpt-{task.index}_temp/part-00000-of-00001.data-00000-of-00001"
        job.start(task, FREE, name)
    facts = job.look_for(WITHIN_S, enough=2)
    where = [(f.task, f.what, f.folder) for f in facts if isinstance(f, FolderWritten)]
    folder = str(job.folder / "logs")
    assert sorted(where) == [(W0, "checkpoints", folder), (W1, "checkpoints", folder)]


def test_a_storm_of_other_files_costs_no_more_than_its_share(job: Job) -> None:
    storm = """
import os, sys
while True:
    for number in range(1_000):
        open(f"{sys.argv[1]}{number}.h5", "wb").close()
        open(f"{sys.argv[1]}{number}.log", "wb").close()
"""
    job.start(W0, storm, "part")
    began_s = time.process_time()
    job.look_for(6.0)
    assert time.process_time() - began_s < CPU_S_MAX + 0.2
    assert len(of_files(job.facts)) <= 16
