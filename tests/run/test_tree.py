"""Nothing of a run outlives it: children, grandchildren, and those that hide."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.facts import LeftoverEnded

pytestmark = pytest.mark.timeout(60)
Start = Any

# Leaves a child, one in a session of its own, and one that forked twice; all keep the output
# open, all ignore SIGTERM, and one listens on the task's own port.
HIDE = """
import json, os, signal, socket, sys, time
def stay(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if name == "twice":
        config = json.loads(os.environ["TF_CONFIG"])
        host, _, port = config["cluster"]["worker"][config["task"]["index"]].partition(":")
        held = socket.create_server((host, int(port)))
    os.write(1, f"{name} is here\\n".encode())
    while True:
        time.sleep(60)
if os.fork() == 0:
    stay("child")
if os.fork() == 0:
    os.setsid()
    stay("session")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.chdir("/")
        os.environ["TF_CONFIG"] = sys.argv[2]
        stay("twice")
    os._exit(0)
log = os.environ["HOLDFAST_RUN_DIR"] + "/logs/worker-0.1.out"
while open(log).read().count("is here") < 3:
    time.sleep(0.01)
os.kill(os.getpid(), int(sys.argv[1])) if int(sys.argv[1]) else sys.exit(0)
"""


@pytest.mark.parametrize(("ends", "code"), [(0, 0), (signal.SIGKILL, 137)], ids=["ended", "killed"])
def test_whatever_a_task_leaves_behind_is_ended(start: Start, ends: int, code: int) -> None:
    program = start.script("hide.py", HIDE)
    job = start(
        *("--grace-s", "0.5", "--", "sh", "-c", 'exec "$@" "$TF_CONFIG"', "sh"),
        *(sys.executable, program, str(int(ends))),
    )
    assert job.wait() == code
    job.nothing_is_left()
    assert {fact.signal for fact in job.facts(LeftoverEnded)} == {15, 9}
    assert len({fact.pid for fact in job.facts(LeftoverEnded)}) == 3
    assert sorted(job.log("worker:0").splitlines()) == [
        b"child is here",
        b"session is here",
        b"twice is here",
    ]


def test_what_a_leftover_writes_until_the_end_of_the_job_is_kept(start: Start) -> None:
    """Its task is long gone, but the job is not."""
    go = start.place / "go"
    late = f"(until [ -e {go} ]; do sleep 0.02; done; echo late; touch {go}.2) &"
    other = f"touch {go}; until [ -e {go}.2 ]; do sleep 0.02; done"
    job = start(
        "--workers",
        "2",
        "--",
        "sh",
        "-c",
        f"case $HOLDFAST_TASK in *0) {late} ;; *) {other} ;; esac",
    )
    assert job.wait() == 0
    assert job.log("worker:0") == b"late\n"
    job.nothing_is_left()


def test_orphans_of_a_short_life_leave_no_zombies(start: Start, poll_until: Any) -> None:
    """Orphans become the holder's children: it must let go of them while the job runs."""
    done = start.place / "done"
    many = "for i in $(seq 200); do (true &) ; done; echo made"
    job = start("--", "sh", "-c", f"{many}; until [ -e {done} ]; do sleep 0.05; done")
    job.until_says("worker:0", b"made")
    holder = job.helper("holdfast.agent.hold")
    poll_until(lambda: zombies_of(holder) == 0, "the holder to reap what it adopted")
    done.touch()
    assert job.wait() == 0
    job.nothing_is_left()


def zombies_of(parent: int) -> int:
    count = 0
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            count += fields[0] == "Z" and int(fields[1]) == parent
    return count


def test_a_stopped_task_is_ended_too(start: Start) -> None:
    """SIGTERM waits until a stopped process goes on; SIGKILL does not."""
    job = start("--grace-s", "0.5", "--", "sleep", "600")
    os.kill(job.pid_of("worker:0"), signal.SIGSTOP)
    job.front.send_signal(signal.SIGTERM)
    assert job.wait() == 143
    job.nothing_is_left()
