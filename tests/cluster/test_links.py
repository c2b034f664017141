"""`holdfast run` over several hosts of one machine, whose network is cut while they train."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cluster import HERE
from bench.network import Network, available

WHY_NOT = available()
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]
HOSTS = ("host-a", "host-b", "host-c")
PORT = 22_222
TRAINS_S_MAX = 120.0
TOLD_S_MAX = 40.0  # how soon is for the bench to judge, on a quiet machine
END_S_MAX = 60.0

# Each task becomes the workload on its own host.
MOVE = """
import json, os, sys
spaces, command = json.loads(sys.argv[1]), sys.argv[2:]
os.execvp("ip", ["ip", "netns", "exec", spaces[os.environ["HOLDFAST_TASK"]], *command])
"""


class Training:
    """Three mirrored workers, one on each host, that have come so far as to train."""

    def __init__(self, net: Network, folder: Path) -> None:
        spaces = {f"worker:{n}": net.namespace(host) for n, host in enumerate(HOSTS)}
        program = [sys.executable, str(HERE / "workloads" / "mirrored.py"), "--steps", "100000"]
        command = [sys.executable, "-c", MOVE, json.dumps(spaces), *program]
        places = [f"{net.address(host)}:{PORT}" for host in HOSTS]
        job = folder / "job.toml"
        job.write_text(
            f"command = {json.dumps(command)}\nworkers = 3\ngrace_s = 2\n"
            f"[addresses]\nworker = {json.dumps(places)}\n"
        )
        self._run_dir = folder / "run"
        self._told = folder / "told"
        with self._told.open("wb") as told:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "holdfast", "run", "--run-dir", self._run_dir, job],
                stdout=told,
                stderr=subprocess.STDOUT,
            )
        self.wait(lambda: "step 20" in self._log("worker-0.1.out"), TRAINS_S_MAX)

    def wait(self, enough: Callable[[], bool], within_s: float) -> float:
        """How long it took."""
        began_s = time.monotonic()
        while not enough():
            assert time.monotonic() - began_s < within_s, self.told()[-3000:]
            time.sleep(0.1)
        return time.monotonic() - began_s

    def told(self) -> str:
        return self._told.read_text(errors="replace")

    def _log(self, name: str) -> str:
        file = self._run_dir / "logs" / name
        return file.read_text(errors="replace") if file.exists() else ""

    def end(self) -> dict[str, Any]:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(END_S_MAX)
        report: dict[str, Any] = json.loads((self._run_dir / "report.json").read_text())
        return report

    def kill(self) -> None:
        if self._process.poll() is None:
            stop = [sys.executable, "-m", "holdfast", "stop", "--now", str(self._run_dir)]
            subprocess.run(stop, check=False, capture_output=True, timeout=END_S_MAX)
            self._process.wait(END_S_MAX)


@pytest.fixture
def net() -> Iterator[Network]:
    with Network(*HOSTS) as made:
        yield made


@pytest.fixture
def training(net: Network, tmp_path: Path) -> Iterator[Training]:
    made = Training(net, tmp_path)
    yield made
    made.kill()


def test_two_who_lose_each_other_are_told_within_seconds(net: Network, training: Training) -> None:
    """TensorFlow itself would wait for 15 minutes: both still reach the first worker."""
    net.cut("host-b", "host-c")
    took_s = training.wait(lambda: "partition" in training.told(), TOLD_S_MAX)
    print(f"told after {took_s:.1f} s")
    # Who is named first is who was heard of first: neither is more to blame than the other.
    ways = ("worker:2 and worker:1", "worker:1 and worker:2")
    told = training.told()
    assert any(f"the path between {way} is cut, and both live" in told for way in ways), told
    found = [one for one in training.end()["findings"] if one["severity"] == "error"]
    assert [one["cause"] for one in found] == ["partition"]
    assert found[0]["culprit"] in {"worker:1", "worker:2"}


def test_who_is_cut_off_from_all_is_told_and_stays_the_cause(
    net: Network, training: Training
) -> None:
    net.isolate("host-b")
    took_s = training.wait(lambda: "partition" in training.told(), TOLD_S_MAX)
    print(f"told after {took_s:.1f} s")
    assert "worker:1 is cut off from worker:0 and worker:2" in training.told()
    first = training.end()["findings"][0]
    assert (first["cause"], first["culprit"]) == ("partition", "worker:1")
