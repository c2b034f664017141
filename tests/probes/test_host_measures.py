"""What this host gives to its tasks, really limited and measured again."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.model.codec import decode
from holdfast.model.facts import Fact, HostMeasured, LimitSeen
from holdfast.probes import cgroup_folders, said_in_time
from holdfast.probes.host import measure_host
from holdfast.probes.limits import seen_limits
from holdfast.probes.process import stat_of

DYING_S_MAX = 30.0
WHERE = {"at_s": 0.5, "host": "host-a"}
MEASURE = """
import sys
from holdfast.model.codec import encode
from holdfast.probes.host import measure_host
from holdfast.probes.limits import seen_limits
where = {"at_s": 0.5, "host": "host-a"}
for folder in sys.argv[1:]:
    with open(folder + "/cgroup.procs", "w") as file:
        file.write("0")
for fact in (measure_host(where, ["worker:0"]), *seen_limits(where)):
    print(encode(fact).decode())
"""


def measured_in(*cgroups: Path) -> list[Fact]:
    command = [sys.executable, "-c", MEASURE, *map(str, cgroups)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [decode(line) for line in done.stdout.splitlines()]


@contextmanager
def cgroup(controller: str, **limits: str) -> Iterator[Path]:
    """A cgroup below our own, with the first spelling of each limit that this kernel knows."""
    above = next(cgroup_folders(controller), None)
    if above is None or os.geteuid() != 0:
        pytest.skip(f"no {controller} cgroup of our own can be made here")
    folder = above / f"holdfast-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no {controller} cgroup of our own can be made here: {error}")
    try:
        for name, value in limits.items():
            file = folder / name.replace("__", ".")
            if not file.exists():
                pytest.skip(f"this kernel has no {file.name}")
            file.write_text(value)
        yield folder
    finally:
        folder.rmdir()


def test_a_host_has_processors_and_memory_for_its_tasks() -> None:
    host = measure_host(WHERE, ["worker:0", "ps:0"])
    assert 1 <= host.cpus <= (os.cpu_count() or 1)
    assert 0 < host.memory_free_bytes <= host.memory_bytes
    assert host.tasks == ("worker:0", "ps:0")
    first, last = host.outgoing_ports
    assert 0 < first < last < 65_536
    assert (host.host, host.at_s) == ("host-a", 0.5)


def test_affinity_limits_the_processors() -> None:
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    try:
        assert measure_host(WHERE, []).cpus == 1
    finally:
        os.sched_setaffinity(0, every)


def test_the_smallest_memory_limit_up_the_tree_counts() -> None:
    name = "memory__limit_in_bytes" if _is_v1("memory") else "memory__max"
    with cgroup("memory", **{name: str(512 << 20)}) as folder:
        host = measured_in(folder)[0]
        below = folder / "below"
        below.mkdir()
        try:
            deeper = measured_in(below)[0]
        finally:
            below.rmdir()
    for fact in (host, deeper):
        assert isinstance(fact, HostMeasured)
        assert fact.cgroup_limit_bytes == 512 << 20
        assert 0 < fact.memory_free_bytes <= 512 << 20


def test_a_quota_limits_the_processors() -> None:
    if _is_v1("cpu"):
        limits = {"cpu__cfs_period_us": "100000", "cpu__cfs_quota_us": "50000"}
    else:
        limits = {"cpu__max": "50000 100000"}
    with cgroup("cpu", **limits) as folder:
        host = measured_in(folder)[0]
    assert isinstance(host, HostMeasured)
    assert host.cpus == 1


def test_threads_of_a_cgroup_are_counted_against_its_limit() -> None:
    with cgroup("pids", pids__max="77") as folder:
        facts = measured_in(folder)
    limits = [fact for fact in facts if isinstance(fact, LimitSeen)]
    (threads,) = [seen for seen in limits if seen.limit == "cgroup-threads"]
    assert threads.soft == 77
    assert 1 <= threads.used < 77


def _is_v1(controller: str) -> bool:
    above = next(cgroup_folders(controller), Path("/"))
    return controller in above.parts


def test_the_limit_of_open_files_is_that_of_a_child() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        seen = list(seen_limits(WHERE))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert LimitSeen(limit="open-files", soft=200, at_s=0.5, host="host-a") in seen


def test_a_users_threads_are_counted_against_his_limit() -> None:
    """The limit does not hold for root, so root becomes somebody else for the look."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))
        if os.geteuid() == 0:
            os.setresuid(65_534, 65_534, 65_534)
        seen = [limit for limit in seen_limits(WHERE) if limit.limit == "user-threads"]
        os.write(writer, f"{seen[0].soft} {seen[0].used}".encode() if seen else b"none")
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 100).decode()
    os.close(reader)
    os.waitpid(child, 0)
    soft, used = map(int, answer.split())
    assert soft == 40
    assert used >= 1


def test_a_process_that_is_gone_has_no_cgroups() -> None:
    assert list(cgroup_folders("memory", pid=2**22 + 1)) == []


def test_what_a_process_says_is_kept_with_its_code() -> None:
    said = said_in_time(
        (sys.executable, "-c", "import sys; print('out'); sys.exit('err')"), wait_s=20
    )
    assert (said.out, said.err, said.code) == ("out\n", "err\n", 1)


def test_a_process_that_does_not_end_is_killed_with_its_children() -> None:
    program = "import os, time; print(os.fork(), flush=True); time.sleep(600)"
    said = said_in_time((sys.executable, "-c", program), wait_s=2)
    assert said.code is None
    child = max(int(line) for line in said.out.split())
    until_s = time.monotonic() + DYING_S_MAX
    while (seen := stat_of(child)) and seen.state not in "ZX":
        assert time.monotonic() < until_s, seen


def test_a_process_that_never_stops_talking_is_cut_short() -> None:
    program = "while True: print('x' * 1000)"
    said = said_in_time((sys.executable, "-c", program), wait_s=1)
    assert said.code is None
    assert len(said.out) < 100_000


def test_a_command_that_is_not_there_is_told_in_the_kernels_words() -> None:
    said = said_in_time(("/no/such/program",), wait_s=1)
    assert said.code == 127
    assert "No such file" in said.err
