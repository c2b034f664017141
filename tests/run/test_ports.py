"""Ports that nobody else uses, also when two runs start at once in a crowded place."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(180)
Start = Any
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))

# Takes every port we might choose but a few: on all addresses, on one, over IPv4 and IPv6.
CROWD = """
import fcntl, resource, socket, struct, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    request = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
    fcntl.ioctl(any_socket, 0x8914, request)    # SIOCSIFFLAGS
free = set(map(int, sys.argv[1:]))
held = []
for port in sorted(set(range(20_000, 32_001)) - free):
    family, address = (
        (socket.AF_INET, ""), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"),
    )[port % 3]
    one = socket.socket(family, socket.SOCK_STREAM)
    one.bind((address, port))
    one.listen(1)
    held.append(one)
print("crowded", flush=True)
sys.stdin.read()
"""
FREE = (20_000, 21_001, 23_456, 25_000, 28_888, 31_999)


@pytest.fixture
def crowded() -> Iterator[tuple[str, ...]]:
    """A network of its own in which six ports are left; what to put in front of a command."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace of its own takes root")
    crowd = subprocess.Popen(
        ["unshare", "--net", sys.executable, "-c", CROWD, *map(str, FREE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert crowd.stdin is not None
    assert crowd.stdout is not None
    with crowd.stdin, crowd.stdout:
        if crowd.stdout.readline() != b"crowded\n":
            pytest.skip("this machine does not let root make a network, or hold 12000 sockets")
        yield ("nsenter", "--net", "--target", str(crowd.pid), HOLDFAST)
    crowd.wait()


def ports_of(job: Any) -> set[int]:
    return {int(address.rpartition(":")[2]) for address in job.about["cluster"].values()}


def test_runs_share_no_port_with_anybody_and_give_theirs_back(
    start: Start, crowded: tuple[str, ...]
) -> None:
    go = start.place / "go"
    wait = ("--", "sh", "-c", f"echo ready; until [ -e {go} ]; do sleep 0.02; done")
    one = start("--workers", "3", *wait, front=crowded)
    two = start("--workers", "3", *wait, front=crowded)
    for job in (one, two):
        job.until_says("worker:2", b"ready")
    assert ports_of(one) | ports_of(two) == set(FREE)
    assert not ports_of(one) & ports_of(two)
    late = start("--workers", "1", "--", "true", front=crowded)
    assert late.wait() == 74
    assert "no free port is left between 20000 and 32000" in late.err
    assert not late.run_dir.exists()
    go.touch()
    assert one.wait() == two.wait() == 0
    again = start("--workers", "6", "--", "true", front=crowded)
    assert again.wait() == 0, again.err
    assert ports_of(again) == set(FREE)


def test_a_plan_claims_nothing(start: Start, crowded: tuple[str, ...]) -> None:
    for _ in range(2):
        plan = start("--plan", "--workers", "6", "--", "true", front=crowded)
        assert plan.wait() == 0
        assert all(f":{port}" in plan.out for port in FREE)


def test_too_few_open_files_are_said_to_be_that(holdfast: Callable[..., Any]) -> None:
    tried = holdfast(
        *("run", "--workers", "300", "--", "true"),
        preexec_fn=lambda: __import__("resource").setrlimit(7, (64, 64)),
    )
    assert tried.returncode == 74
    assert "ulimit -n" in tried.stderr
    assert "Traceback" not in tried.stderr
