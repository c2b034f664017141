"""Of the variables of a real program, addresses are kept and nothing else."""

import subprocess
import sys

from holdfast.probes.stacks import held_addresses

PROGRAM = """
import time
def start(cluster, token):
    server = "grpc://10.0.0.7:2224"
    print("ready", flush=True)
    time.sleep(60)
start({"ps": ["127.0.0.1:24527"], "worker": ["gpu-06.lab:2222", "n.o:12"]}, "hunter2:8888 secret")
"""


def test_of_a_programs_variables_only_addresses_are_kept() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        held = held_addresses(process.pid)
        process.kill()
    assert {"127.0.0.1:24527", "gpu-06.lab:2222", "10.0.0.7:2224"} <= set(held)
    assert not any(word in one for one in held for word in ("secret", "hunter2", "n.o"))


def test_of_who_cannot_be_read_no_address_is_known() -> None:
    assert held_addresses(1 << 22) == ()
