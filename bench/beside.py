"""What Holdfast's own processes take while many tasks train: processor time and memory.

Watching is measured from the moment that the start-up's own process has ended: it lives until all
tasks train. What the start took, of processor time and of memory, is told beside it.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cluster import HERE
from bench.footprint import MARK, Own, Used, own_processes, used
from bench.timed_runs import end

PROGRAM = HERE / "workloads" / "mirrored.py"
STEP_MS = 50.0
STEPS_WITHOUT_END = 1_000_000
START_S_MAX = 240.0
STARTER = "looker"
STARTER_S_MAX = 120.0
SAMPLE_EVERY_S = 5.0
STEP = re.compile(r"^step (\d+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Spent:
    name: str
    cpu_s: float
    pss_bytes: int  # the most that was seen
    is_front: bool


@dataclass(frozen=True, slots=True)
class Beside:
    tasks: int
    took_s: float
    steps: int
    processes: list[Spent]
    pss_bytes: int  # the most that all but the front held at one moment
    findings: list[str]
    start_cpu_s: float  # from the beginning until the window, by all but the front
    start_pss_bytes: int

    @property
    def cpu_share(self) -> float:
        """Of one core, by all but the front: showing a job is no part of watching it."""
        return sum(one.cpu_s for one in self.processes if not one.is_front) / self.took_s


def watch_beside(tasks: int, healthy_s: float) -> Beside:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-beside-"))
    run_dir = folder / "run"
    options = ["--steps", str(STEPS_WITHOUT_END), "--step-ms", str(STEP_MS)]
    task = [sys.executable, str(PROGRAM), *options]
    roles = ["--workers", str(tasks), "--start-deadline-s", str(START_S_MAX)]
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run_dir), *roles, "--"]
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", MARK: str(folder)}
    with (folder / "log").open("wb") as log:
        front = subprocess.Popen([*command, *task], env=env, stdout=log, stderr=log)
    try:
        _wait_for_step(front, run_dir, folder)
        return _measure(folder, tasks, healthy_s, _most_until_started(folder))
    finally:
        end(front)
        shutil.rmtree(folder, ignore_errors=True)


def _most_until_started(folder: Path) -> int:
    """The most memory held until the start-up's process has ended."""
    deadline_s = time.monotonic() + STARTER_S_MAX
    most = 0
    while time.monotonic() < deadline_s:
        looked = _look(folder)
        most = max(most, _whole(looked))
        if not any(own.name == STARTER for own in looked):
            return most
        time.sleep(1.0)
    raise RuntimeError(f"the start-up's process still lives {STARTER_S_MAX:.0f} s after a step")


def _measure(folder: Path, tasks: int, healthy_s: float, start_pss_bytes: int) -> Beside:
    run_dir = folder / "run"
    began_s, step = time.monotonic(), _last_step(run_dir)
    first = _look(folder)
    last, most, most_whole = first, dict(first), _whole(first)
    while time.monotonic() < began_s + healthy_s:
        time.sleep(SAMPLE_EVERY_S)
        last = _look(folder)
        most_whole = max(most_whole, _whole(last))
        for own, now in last.items():
            before = most.get(own, now)
            most[own] = Used(now.cpu_s, max(now.pss_bytes, before.pss_bytes))
    took_s = time.monotonic() - began_s
    spent = [
        Spent(own.name, now.cpu_s - _cpu_before(first, own), now.pss_bytes, own.is_front)
        for own, now in most.items()
    ]
    return Beside(
        tasks=tasks,
        took_s=took_s,
        steps=_last_step(run_dir) - step,
        processes=spent,
        pss_bytes=most_whole,
        findings=_findings(run_dir),
        start_cpu_s=sum(now.cpu_s for own, now in first.items() if not own.is_front),
        start_pss_bytes=start_pss_bytes,
    )


def _look(folder: Path) -> dict[Own, Used]:
    looked = {own: used(own) for own in own_processes(str(folder), str(PROGRAM))}
    return {own: now for own, now in looked.items() if now is not None}


def _whole(looked: dict[Own, Used]) -> int:
    return sum(now.pss_bytes for own, now in looked.items() if not own.is_front)


def _cpu_before(first: dict[Own, Used], own: Own) -> float:
    return first[own].cpu_s if own in first else 0.0


def _findings(run_dir: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        told = [json.loads(line) for line in (run_dir / "findings.jsonl").read_text().splitlines()]
        return [f"{one['cause']} {one['culprit']}" for one in told]
    return []


def _wait_for_step(front: "subprocess.Popen[bytes]", run_dir: Path, folder: Path) -> None:
    deadline_s = time.monotonic() + START_S_MAX
    while not _last_step(run_dir):
        if front.poll() is not None or time.monotonic() > deadline_s:
            words = (folder / "log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"the training took no step:\n{words}")
        time.sleep(0.5)


def _last_step(run_dir: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        steps = STEP.findall((run_dir / "logs" / "worker-0.1.out").read_text(errors="replace"))
        return int(steps[-1]) if steps else 0
    return 0
