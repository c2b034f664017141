"""Whose servers are awaited at a start: TensorFlow's, and nobody else's."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.clock import Clock
from holdfast.agent.start_processes import Processes
from holdfast.logdir.run_dir import create_run_dir
from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.facts import SocketsSeen

TASK = TaskId("worker", 0)
# As PyTorch's store, or JAX's coordinator: a protocol of its own at the address it was given.
LISTENS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
sys.stdin.read()
"""
CONNECTS = """
import socket, sys
print("ready", flush=True)
sys.stdin.readline()
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("connected", flush=True)
sys.stdin.read()
"""
ONLY_LIVES = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def processes(tmp_path: Path, port: int) -> Iterator[Processes]:
    run_dir = create_run_dir(tmp_path / "run")
    for stream in ("out", "err"):
        run_dir.create_log(TASK, 1, stream)
    cluster = ClusterSpec(addresses={TASK: f"127.0.0.1:{port}"})
    yield Processes(run_dir, cluster, host="host-a", clock=Clock(time.monotonic()))
    run_dir.close()


def is_foreign(processes: Processes, code: str, port: int) -> bool:
    with subprocess.Popen(
        [sys.executable, "-c", code, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as task:
        assert task.stdout is not None
        assert task.stdout.readline() == "ready\n"
        processes.started(TASK, task.pid)
        processes.look()
        found = processes.are_foreign()
        task.kill()
    return found


def test_who_listens_at_its_address_without_tensorflow_is_of_another_framework(
    processes: Processes, port: int
) -> None:
    assert is_foreign(processes, LISTENS, port)


def test_a_stranger_at_the_address_of_a_task_is_still_a_stranger(
    processes: Processes, port: int
) -> None:
    with socket.create_server(("127.0.0.1", port)):
        assert not is_foreign(processes, ONLY_LIVES, port)


def test_a_connection_to_a_member_of_the_cluster_is_told(processes: Processes, port: int) -> None:
    with (
        socket.create_server(("127.0.0.1", port)),
        subprocess.Popen(
            [sys.executable, "-c", CONNECTS, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as task,
    ):
        assert task.stdin is not None
        assert task.stdout is not None
        assert task.stdout.readline() == "ready\n"
        processes.started(TASK, task.pid)
        assert connected(processes) == []
        task.stdin.write("go\n")
        task.stdin.flush()
        assert task.stdout.readline() == "connected\n"
        assert connected(processes) == [(f"127.0.0.1:{port}",)]
        task.kill()


def connected(processes: Processes) -> list[tuple[str, ...]]:
    return [fact.connected for fact in processes.look() if isinstance(fact, SocketsSeen)]
