"""A small TensorFlow cluster whose servers live in one process, and `holdfast attach` beside it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SERVE = """
import json, sys
import tensorflow as tf
cluster, tasks = json.loads(sys.argv[1]), json.loads(sys.argv[2])
kept = [tf.distribute.Server(cluster, job_name=role, task_index=index) for role, index in tasks]
print("ready", flush=True)
sys.stdin.read()
"""
LONE = """
import json, os, sys, time
import tensorflow as tf
cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
server = tf.distribute.Server(cluster, job_name="worker", task_index=0)
print("ready", flush=True)
if sys.argv[1] == "joins":
    server.join()
elif sys.argv[1] == "sleeps":
    time.sleep(1000)
while True:
    sum(range(200_000))
    time.sleep(0.02)
"""
ATTACH_S_MAX = 60


@dataclass(frozen=True)
class Attached:
    exit_code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def findings(self) -> list[tuple[str, str, str]]:
        return [
            (one["severity"], one["cause"], one["culprit"])
            for one in self.report["findings"]
            if one["severity"] != "info"
        ]


Attach = Callable[..., Attached]


@pytest.fixture
def attach() -> Attach:
    def go(*words: str, **env: str) -> Attached:
        environ = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "attach", *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=ATTACH_S_MAX,
            env={**environ, "NO_COLOR": "1", **env},
        )
        return Attached(done.returncode, done.stdout, done.stderr)

    return go


@pytest.fixture
def lone_worker(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """A job of one task, which works, sleeps or joins; its TF_CONFIG is all that is told of it."""
    started: list[subprocess.Popen[str]] = []
    program = tmp_path / "lone.py"
    program.write_text(LONE)

    def start(does: str) -> str:
        cluster = {"worker": [f"127.0.0.1:{free_ports(1)[0]}"]}
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
        with (tmp_path / "err").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, str(program), does],
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                env={**os.environ, "TF_CONFIG": config},
            )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", (tmp_path / "err").read_text()
        return config

    yield start
    for process in started:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Cluster:
    """Where its tasks listen; `absent` is a worker that nobody has started."""

    addresses: dict[str, list[str]]
    process: subprocess.Popen[str]

    def tf_config(self, *, workers: int = 2, index: int = 0) -> str:
        cluster = {**self.addresses, "worker": self.addresses["worker"][:workers]}
        return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """ps:0, worker:0 and worker:1 answer. The definition of some tests has a worker:2 as well."""
    ports = free_ports(4)
    addresses = {
        "ps": [f"127.0.0.1:{ports[0]}"],
        "worker": [f"127.0.0.1:{port}" for port in ports[1:]],
    }
    known = {**addresses, "worker": addresses["worker"][:2]}
    log: Path = tmp_path_factory.mktemp("servers") / "log"
    with log.open("w") as err:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                SERVE,
                json.dumps(known),
                '[["ps",0],["worker",0],["worker",1]]',
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", log.read_text()
    yield Cluster(addresses, process)
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def free_ports(count: int) -> list[int]:
    """Far apart from each other: a look next door must not find a neighbour."""
    held: list[socket.socket] = []
    found: list[int] = []
    for port in range(20_100, 32_000, 97):
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            one.close()
            continue
        held.append(one)
        found.append(port)
        if len(found) == count:
            break
    for one in held:
        one.close()
    return found
