"""`holdfast run` over several hosts of one machine, whose network is cut while they start."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
HEAL_AFTER_S = 12.0
RUN_S_MAX = 200

# Each task becomes the workload on its own host.
MOVE = """
import json, os, sys
spaces, command = json.loads(sys.argv[1]), sys.argv[2:]
os.execvp("ip", ["ip", "netns", "exec", spaces[os.environ["HOLDFAST_TASK"]], *command])
"""


class Ran(NamedTuple):
    exit_code: int
    report: dict[str, Any]
    text: str

    @property
    def errors(self) -> list[tuple[str, str]]:
        found = self.report["findings"]
        return [(one["cause"], one["culprit"]) for one in found if one["severity"] == "error"]


@pytest.fixture
def net() -> Iterator[Network]:
    with Network(*HOSTS) as made:
        yield made


Start = Callable[[], Ran]


@pytest.fixture
def run(net: Network, tmp_path: Path) -> Start:
    """Three mirrored workers, one on each host, all on the same port."""

    def go() -> Ran:
        spaces = {f"worker:{n}": net.namespace(host) for n, host in enumerate(HOSTS)}
        program = [sys.executable, str(HERE / "workloads" / "mirrored.py"), "--steps", "40"]
        command = [sys.executable, "-c", MOVE, json.dumps(spaces), *program]
        places = [f"{net.address(host)}:{PORT}" for host in HOSTS]
        job = tmp_path / "job.toml"
        job.write_text(
            f"command = {json.dumps(command)}\nworkers = 3\nstart_deadline_s = 60\ngrace_s = 2\n"
            f"[addresses]\nworker = {json.dumps(places)}\n"
        )
        run_dir = tmp_path / "run"
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "run", "-q", "--run-dir", str(run_dir), str(job)],
            check=False,
            capture_output=True,
            text=True,
            timeout=RUN_S_MAX,
        )
        report = json.loads((run_dir / "report.json").read_text())
        return Ran(done.returncode, report, done.stdout + done.stderr)

    return go


def test_a_filtered_port_is_told_while_it_blocks_and_as_the_cause(net: Network, run: Start) -> None:
    net.filter_port("host-b", PORT)
    ran = run()
    assert ran.errors[0] == ("filtered", "worker:1"), ran.text
    assert "wait for worker:1, which gives no answer at all" in ran.text
    assert ran.exit_code == 75


def test_two_who_cannot_hear_each_other_are_told_from_those_who_can(
    net: Network, run: Start
) -> None:
    net.cut_one_way("host-b", "host-c")
    ran = run()
    assert ran.errors[0] in {("partition", "worker:1"), ("partition", "worker:2")}, ran.text
    assert "the path between them is cut" in ran.text


def test_a_cut_that_heals_accuses_nobody(net: Network, run: Start) -> None:
    net.isolate("host-b")
    healing = threading.Timer(HEAL_AFTER_S, net.heal)
    healing.start()
    try:
        ran = run()
    finally:
        healing.join()
    assert ran.exit_code == 0, ran.text
    assert ran.errors == []
