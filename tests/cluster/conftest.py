"""Real TensorFlow clusters under `holdfast run`, and what is left of them afterwards."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))  # clusters and faults come from bench/
WORKLOADS = ROOT / "bench" / "workloads"
MEMORY_CGROUPS = Path("/sys/fs/cgroup/memory")
RUN_S_MAX = 240


@dataclass(frozen=True)
class Ran:
    """A finished run: its exit code, its report, and where it lies."""

    exit_code: int
    report: dict[str, Any]
    run_dir: Path
    text: str

    @property
    def root(self) -> tuple[str, str]:
        """Cause and culprit of the first finding."""
        first = self.report["findings"][0]
        return first["cause"], first["culprit"]

    @property
    def echoes(self) -> set[str]:
        return {echo["task"] for echo in self.report["findings"][0]["echoes"]}


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a workload to its end; `wrap` is a program put in front of every task."""

    def go(roles: str, workload: str, *options: str, wrap: tuple[str, ...] = ()) -> Ran:
        run_dir = tmp_path / "run"
        command = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run_dir)]
        task = [*wrap, sys.executable, str(WORKLOADS / f"{workload}.py"), *options]
        done = subprocess.run(
            [*command, *roles.split(), "--", *task],
            check=False,
            capture_output=True,
            text=True,
            timeout=RUN_S_MAX,
        )
        assert (run_dir / "report.json").exists(), done.stdout + done.stderr
        report = json.loads((run_dir / "report.json").read_text())
        nothing_is_left(run_dir)
        return Ran(done.returncode, report, run_dir, done.stdout)

    return go


def nothing_is_left(run_dir: Path) -> None:
    """No process of the run, nobody on its ports, no door."""
    about = json.loads((run_dir / "run.json").read_text())
    marker = f"HOLDFAST_RUN_ID={about['run_id']}".encode()
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and place.name != str(os.getpid()):
            try:
                environment = (place / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            assert marker not in environment, f"pid {place.name} was left behind"
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    for address in about["cluster"].values():
        port = int(address.rpartition(":")[2])
        assert f":{port:04X} 00000000:0000 0A" not in listening, f"port {port} is still held"
    assert not (run_dir / "control.sock").exists()


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Callable[[str, int], str]]:
    """A program that puts one task under a memory limit before it becomes that task."""
    made: list[Path] = []

    def make(task: str, limit_bytes: int) -> str:
        if not os.access(MEMORY_CGROUPS, os.W_OK):
            pytest.skip("making a memory limit takes root and a memory cgroup (v1)")
        cgroup = MEMORY_CGROUPS / f"holdfast-test-{os.getpid()}"
        cgroup.mkdir()
        made.append(cgroup)
        (cgroup / "memory.limit_in_bytes").write_text(str(limit_bytes))
        program = tmp_path / "limit.sh"
        program.write_text(
            "#!/bin/sh\n"
            f'[ "$HOLDFAST_TASK" = {task} ] && echo $$ > {cgroup}/cgroup.procs\n'
            'exec "$@"\n'
        )
        program.chmod(0o755)
        return str(program)

    yield make
    for cgroup in made:
        cgroup.rmdir()
