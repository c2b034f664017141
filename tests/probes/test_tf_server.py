"""Real TensorFlow servers, asked who they are and whom they see."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.model.cluster import TaskId
from holdfast.probes.paths import Place, ask_status, probe_paths, probe_peers

pytestmark = pytest.mark.cluster
SERVER = """
import json, sys
import tensorflow as tf
addresses, index = json.loads(sys.argv[1]), int(sys.argv[2])
server = tf.distribute.Server({"worker": addresses}, job_name="worker", task_index=index)
print("up", flush=True)
server.join()
"""


def clock() -> float:
    return 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """worker:0 of two; worker:1 never comes."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("", 0)) as two:
        here, missing = (f"127.0.0.1:{free.getsockname()[1]}" for free in (one, two))
    command = [sys.executable, "-c", SERVER, f'["{here}", "{missing}"]', "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield here, process
        process.kill()


def test_a_server_tells_who_it_is_and_waits_for_its_peer(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    place = Place(server[0], TaskId("worker", 0))
    (look,) = probe_paths([place], at_s=clock, host="host-a")
    assert (look.outcome, look.name, look.devices) == ("answered", "worker:0", ("CPU:0",))
    assert look.incarnation > 0
    (listed,) = probe_peers([place], at_s=clock, host="host-a", deadline_s=0.5)
    assert (listed.answered, listed.sees, listed.task) == (False, {}, TaskId("worker", 0))


def test_a_stopped_server_stalls_and_waits_for_nobody(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    address, process = server
    os.kill(process.pid, signal.SIGSTOP)
    try:
        (look,) = probe_paths([Place(address)], at_s=clock, host="host-a", answer_s=0.5)
        assert look.outcome == "stalled"
        assert ask_status(address, deadline_s=0.3).outcome == "stalled"
        assert probe_peers([Place(address)], at_s=clock, host="host-a", deadline_s=0.3) == []
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_gRPC_leaves_no_trace_in_our_environment_and_on_stderr() -> None:  # noqa: N802
    code = (
        "import os; from holdfast.probes.paths import ask_status\n"
        "print(ask_status('127.0.0.1:1', deadline_s=1).outcome, 'GRPC_VERBOSITY' in os.environ)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("refused False\n", "")
