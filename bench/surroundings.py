"""What a struck task lives in: cgroups with limits, small and frozen disks, hosts of its own."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.network import Network
from bench.output.envs import bin_of

if TYPE_CHECKING:
    from bench.strike import Surroundings
    from bench.struck import Stage

CGROUPS = Path("/sys/fs/cgroup")
EMPTY_S_MAX = 10.0
SMALL_DISK = "16m"
LOOP_DISK_BYTES = 64 << 20
PORT = 22_222
PYTHON = sys.executable
ONE_NETWORK = threading.Lock()  # its names come from our process

# Each task becomes the workload on its own host.
MOVE = """
import json, os, sys
spaces, command = json.loads(sys.argv[1]), sys.argv[2:]
os.execvp("ip", ["ip", "netns", "exec", spaces[os.environ["HOLDFAST_TASK"]], *command])
"""
# A task that dies once is started again, as by a container's restart policy.
AGAIN = """
import os, subprocess, sys
if os.environ["HOLDFAST_TASK"] == sys.argv[1] and subprocess.Popen(sys.argv[2:]).wait():
    print("started again", file=sys.stderr, flush=True)
os.execvp(sys.argv[2], sys.argv[2:])
"""
# One task runs the same program in another environment.
ELSEWHERE = """
import os, sys
task, python, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if os.environ["HOLDFAST_TASK"] == task:
    command[0] = python
os.execv(command[0], command)
"""


def in_env(name: str) -> "Surroundings":
    """The struck task runs in an environment of its own: other versions of everything."""

    @contextlib.contextmanager
    def around(stage: "Stage") -> Iterator[None]:
        python = str(bin_of(name) / "python")
        stage.wrap = [PYTHON, "-c", ELSEWHERE, stage.task, python, *stage.wrap]
        yield

    return around


def cgroup(controller: str, **settings: int) -> "Surroundings":
    """The struck task starts in a cgroup of its own."""

    @contextlib.contextmanager
    def around(stage: "Stage") -> Iterator[None]:
        place = CGROUPS / controller / f"holdfast-bench-{os.getpid()}-{time.monotonic_ns()}"
        place.mkdir()
        stage.cgroup = place
        try:
            for name, value in settings.items():
                (place / name.replace("__", ".")).write_text(str(value))
            program = stage.folder / "enter.sh"
            program.write_text(
                "#!/bin/sh\n"
                f'[ "$HOLDFAST_TASK" = {stage.task} ] && echo $$ > {place}/cgroup.procs\n'
                'exec "$@"\n'
            )
            program.chmod(0o755)
            stage.wrap = [str(program), *stage.wrap]
            yield
        finally:
            _remove(place)

    return around


def _remove(place: Path) -> None:
    """Once the last process has left it."""
    deadline_s = time.monotonic() + EMPTY_S_MAX
    while place.exists():
        try:
            place.rmdir()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def small_disk(stage: "Stage") -> Iterator[None]:
    """Checkpoints go to a file system that is soon full."""
    place = str(stage.checkpoint_dir)
    _run("mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "holdfast-bench", place)
    try:
        yield
    finally:
        _unmount(place)


@contextlib.contextmanager
def loop_disk(stage: "Stage") -> Iterator[None]:
    """Checkpoints go to a disk that can be frozen."""
    place, image = str(stage.checkpoint_dir), stage.folder / "disk.img"
    with image.open("wb") as file:
        file.truncate(LOOP_DISK_BYTES)
    _run("mkfs.ext4", "-q", str(image))
    _run("mount", "-o", "loop", str(image), place)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "-u", place], check=False, capture_output=True)
        _unmount(place)
        image.unlink()


def _unmount(place: str) -> None:
    """Lazily: whoever still writes there is about to be ended."""
    subprocess.run(["umount", "-l", place], check=False, capture_output=True)


@contextlib.contextmanager
def hosts(stage: "Stage") -> Iterator[None]:
    """Every task has a host of its own, on a network that can be cut."""
    names = {task: f"host-{chr(ord('a') + n)}" for n, task in enumerate(stage.tasks)}
    with ONE_NETWORK, Network(*names.values()) as net:
        stage.net, stage.hosts = net, names
        stage.addresses = {task: f"{net.address(host)}:{PORT}" for task, host in names.items()}
        spaces = {task: net.namespace(host) for task, host in names.items()}
        stage.wrap = [PYTHON, "-c", MOVE, json.dumps(spaces), *stage.wrap]
        yield


@contextlib.contextmanager
def started_again(stage: "Stage") -> Iterator[None]:
    """The struck task comes back when it dies for the first time."""
    stage.wrap = [PYTHON, "-c", AGAIN, stage.task, *stage.wrap]
    yield


@contextlib.contextmanager
def stolen_port(stage: "Stage") -> Iterator[None]:
    """A stranger listens where worker:1 should, as in the start-up bench."""
    launcher = str(Path(__file__).with_name("launcher.py"))
    stage.wrap = [PYTHON, launcher, "--fault", "port-taken", "--", *stage.wrap]
    yield


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
