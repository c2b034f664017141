"""What is told of tasks and their host, and how often: real processes, and a clock of our own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.agent.watch_host import HostLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import DiskMeasured, Fact
from holdfast.model.watch_facts import (
    HostSampled,
    KernelSaid,
    MemoryNearlyFull,
    MemoryNearsLimit,
    TaskSampled,
)
from holdfast.probes.process import stat_of

TASK = TaskId("worker", 0)
CGROUPS = Path("/sys/fs/cgroup")
OBEYS = "import sys\nkept = []\nfor line in sys.stdin:\n    {}\n    print('done', flush=True)"
GROWS = OBEYS.format("kept.append(bytearray(b'x') * int(line))")
READS = OBEYS.format(
    "file, room = open(line.strip(), 'rb'), bytearray(1 << 20)\n    while file.readinto(room): pass"
)
BUSY = "while True: sum(range(10_000))"
MIB = 1 << 20
Kind = TypeVar("Kind", bound=Fact)
Start = Callable[..., "subprocess.Popen[str]"]
root_only = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(CGROUPS / "memory" / "cgroup.procs", os.W_OK),
    reason="limits and mounts take root, and cgroups of version 1",
)


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start_child(code: str, *, cwd: Path | None = None) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )
        started.append(process)
        return process

    yield start_child
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def cgroup(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Of the controller that the test is marked with; empty again when it goes."""
    top = CGROUPS / request.param
    folder = top / f"holdfast-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    for pid in (folder / "cgroup.procs").read_text().split():
        (top / "cgroup.procs").write_text(pid)
    folder.rmdir()


def watched(*processes: "subprocess.Popen[str]") -> dict[TaskId, Watched]:
    found: dict[TaskId, Watched] = {}
    for index, process in enumerate(processes):
        task, stat = TaskId("worker", index), stat_of(process.pid)
        assert stat is not None
        found[task] = Watched(
            task=task,
            pid=process.pid,
            address="",
            streams={},
            pids=(process.pid,),
            main=process.pid,
            trains=True,
            state=stat.state,
            cpu_s=stat.cpu_s,
        )
    return found


def tell(process: "subprocess.Popen[str]", word: object) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    print(word, file=process.stdin, flush=True)
    assert process.stdout.readline() == "done\n"


def of(kind: type[Kind], facts: list[Fact]) -> list[Kind]:
    return [fact for fact in facts if isinstance(fact, kind)]


def test_a_healthy_task_is_told_seldom(start: Start, tmp_path: Path) -> None:
    child = start(GROWS)
    tell(child, 0)
    look = HostLook(host="host-a", folders=((str(tmp_path), "logs"),))
    facts = [fact for at_s in range(120) for fact in look.look(watched(child), float(at_s))]
    samples = of(TaskSampled, facts)
    assert [fact.at_s for fact in samples][:1] == [10.0]
    assert len(samples) == 2
    assert samples[0].files == 3
    assert samples[0].rss_bytes > MIB
    assert 2 <= len(of(DiskMeasured, facts)) <= 4
    assert of(MemoryNearsLimit, facts) == []
    assert [fact.written_bytes_per_s for fact in samples] == [-1.0, 0.0]
    hosts = of(HostSampled, facts)
    assert hosts[0].cpus >= 1
    assert (hosts[0].written_bytes_per_s, hosts[0].sent_bytes_per_s) == (-1.0, {})
    assert hosts[1].written_bytes_per_s >= 0


def test_a_task_that_is_gone_is_forgotten(start: Start) -> None:
    child = start(GROWS)
    look = HostLook(host="host-a")
    list(look.look(watched(child), 0.0))
    child.kill()
    child.wait()
    gone = {TASK: Watched(task=TASK, pid=child.pid, address="", streams={}, main=child.pid)}
    assert of(TaskSampled, list(look.look(gone, 20.0))) == []
    assert of(TaskSampled, list(look.look({}, 40.0))) == []


@root_only
@pytest.mark.parametrize("cgroup", ["cpu"], indirect=True)
def test_a_quota_is_told_with_its_cgroup_while_it_hurts(start: Start, cgroup: Path) -> None:
    child = start(BUSY)
    (cgroup / "cpu.cfs_quota_us").write_text("5000")
    (cgroup / "cgroup.procs").write_text(str(child.pid))
    look = HostLook(host="host-a")
    began_s = time.monotonic()
    facts: list[Fact] = []
    while (at_s := 3 * (time.monotonic() - began_s)) < 27:  # its seconds are a third as long
        facts += look.look(watched(child), at_s)
        time.sleep(0.1)
    short = of(TaskSampled, facts)
    assert len(short) >= 3, "again and again while it lasts"
    assert {(one.quota_of, one.quota_cores) for one in short} == {(f"cpu/{cgroup.name}", 0.05)}
    assert short[-1].throttled_share > 0.1


@root_only
@pytest.mark.parametrize("cgroup", ["memory"], indirect=True)
def test_memory_that_will_be_gone_is_told_before_it_is(start: Start, cgroup: Path) -> None:
    grows, rests = start(GROWS), start(GROWS)
    (cgroup / "memory.limit_in_bytes").write_text(str(100 * MIB))
    for child in (grows, rests):
        (cgroup / "cgroup.procs").write_text(str(child.pid))
    look = HostLook(host="host-a")
    facts: list[Fact] = []
    for at_s in range(0, 70, 2):
        tell(grows, 3 * MIB)
        facts += look.look(watched(grows, rests), float(at_s))
        if of(MemoryNearsLimit, facts):
            break
    (told,) = of(MemoryNearsLimit, facts)
    assert told.task == TASK
    assert told.limit_of == f"memory/{cgroup.name}"
    assert told.limit_bytes == 100 * MIB
    assert 0.6 * told.limit_bytes < told.used_bytes < told.limit_bytes
    assert told.left_s < 120


@root_only
@pytest.mark.parametrize("cgroup", ["memory"], indirect=True)
def test_a_limit_that_stays_nearly_reached_is_told_with_who_is_alone_below_it(
    start: Start, cgroup: Path
) -> None:
    child = start(GROWS)
    (cgroup / "memory.limit_in_bytes").write_text(str(100 * MIB))
    (cgroup / "cgroup.procs").write_text(str(child.pid))
    tell(child, 92 * MIB)
    look = HostLook(host="host-a")
    facts = [fact for at_s in range(0, 70, 2) for fact in look.look(watched(child), float(at_s))]
    (told,) = of(MemoryNearlyFull, facts)
    assert (told.task, told.limit_of) == (TASK, f"memory/{cgroup.name}")
    assert (told.lasting_s, told.limit_bytes) == (60.0, 100 * MIB)
    assert told.by_task["worker:0"] > 90 * MIB


@root_only
@pytest.mark.parametrize("cgroup", ["memory"], indirect=True)
def test_cached_files_fill_no_limit(start: Start, cgroup: Path, tmp_path: Path) -> None:
    child = start(READS)
    (cgroup / "memory.limit_in_bytes").write_text(str(100 * MIB))
    (cgroup / "cgroup.procs").write_text(str(child.pid))
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(200 * MIB)
    tell(child, large)
    assert int((cgroup / "memory.usage_in_bytes").read_text()) > 90 * MIB
    look = HostLook(host="host-a")
    facts = [fact for at_s in range(0, 90, 2) for fact in look.look(watched(child), float(at_s))]
    assert of(MemoryNearlyFull, facts) == []


@root_only
@pytest.mark.parametrize("cgroup", ["memory"], indirect=True)
def test_a_task_that_fills_a_buffer_once_is_not_worth_a_fact(start: Start, cgroup: Path) -> None:
    child = start(GROWS)
    (cgroup / "memory.limit_in_bytes").write_text(str(100 * MIB))
    (cgroup / "cgroup.procs").write_text(str(child.pid))
    look = HostLook(host="host-a")
    facts: list[Fact] = []
    for at_s in range(0, 100, 2):
        if 40 <= at_s < 46:
            tell(child, 20 * MIB)
        facts += look.look(watched(child), float(at_s))
    assert of(MemoryNearsLimit, facts) == []


@root_only
def test_a_disk_that_fills_up_is_told_with_the_time_left(start: Start, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(tmp_path)], check=True)
    try:
        writes = OBEYS.format("open('log', 'ab').write(bytes(int(line)))")
        child = start(writes, cwd=tmp_path)
        look = HostLook(host="host-a")
        facts: list[Fact] = []
        for at_s in range(0, 80, 5):
            tell(child, MIB)
            facts += look.look(watched(child), float(at_s))
        child.kill()
        child.wait()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    told = [fact for fact in of(DiskMeasured, facts) if fact.path == str(tmp_path)]
    assert told[0].left_s == -1.0
    assert told[0].task == TASK
    assert 0 < told[-1].left_s < 60
    assert len(told) > 3


@pytest.mark.skipif(
    not os.access("/dev/kmsg", os.W_OK), reason="only root may write to the kernel's log"
)
def test_what_the_kernel_says_is_told_once_and_only_of_our_own(start: Start) -> None:
    child = start(GROWS)
    look = HostLook(host="host-a")
    list(look.look(watched(child), 0.0))
    for pid in (child.pid, child.pid, os.getpid()):
        Path("/dev/kmsg").write_text(f"python[{pid}]: segfault at 0 ip 0 sp 0 error 4 (a test)\n")
    said = of(KernelSaid, list(look.look(watched(child), 1.0)))
    ours = [fact for fact in said if fact.about == "segfault"]
    assert [(fact.task, fact.pid) for fact in ours] == [(TASK, child.pid)]
