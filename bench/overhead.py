"""Measures what Holdfast costs a real training: step times with it and without it.

`python bench/overhead.py`: two workers of a MultiWorkerMirroredStrategy on this machine, which
print a line every step. First whole runs in pairs; then one long run during which Holdfast's own
processes are frozen every other while, so that a noisy machine touches both sides alike.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import psutil

WORKERS = 2
WARM_UP_STEPS = 30
RUN_S_MAX = 300.0
WHILE_S = 1.0  # how long Holdfast is frozen, and then awake
SETTLE_S = 0.1  # what happens around the change belongs to neither side
FEATURES, UNITS, BATCH = 256, 512, 256
SIDE = "HOLDFAST_BENCH_SIDE"


@dataclass(frozen=True, slots=True)
class Step:
    began_s: float  # on the clock that all processes share
    took_s: float


@dataclass(frozen=True, slots=True)
class Steps:
    """Of worker 0: all workers of a mirrored training keep step."""

    median_s: float
    mean_s: float  # shows rare long steps, which the median hides
    fast_s: float  # the fastest tenth's slowest: hardly touched by whoever else is here


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600, help="of each run of a pair")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--long-steps", type=int, default=8000, help="of the run with freezes")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        train(asked.steps)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':10}{'alone ms':>10}{'holdfast ms':>13}{'median':>9}{'mean':>9}{'tenth':>9}")
    found = [
        print_pair(f"pair {number + 1}", *pair(number, asked.steps))
        for number in range(asked.pairs)
    ]
    frozen, awake = measure_frozen(asked.long_steps)
    within = print_pair("one run", frozen, awake)
    print(
        f"a step under Holdfast takes {median(found):.3f} of its time alone, by whole runs;"
        f" {within:.3f} by freezing Holdfast within one; load is now {os.getloadavg()[0]:.1f}"
    )


def print_pair(name: str, alone: Steps, ours: Steps) -> float:
    """Returns the ratio of the medians."""
    ratios = (
        ours.median_s / alone.median_s,
        ours.mean_s / alone.mean_s,
        ours.fast_s / alone.fast_s,
    )
    times = f"{alone.median_s * 1000:10.2f}{ours.median_s * 1000:13.2f}"
    print(f"{name:10}{times}{''.join(f'{ratio:9.3f}' for ratio in ratios)}", flush=True)
    return ratios[0]


def pair(number: int, steps: int) -> tuple[Steps, Steps]:
    """Every second pair begins with the other one: drift hits both alike."""
    order = sorted(RUNS, reverse=bool(number % 2))
    found = {name: measure(RUNS[name], steps) for name in order}
    return summary(found["alone"]), summary(found["holdfast"])


def summary(steps: list[Step]) -> Steps:
    took = [step.took_s for step in steps]
    return Steps(median(took), fmean(took), sorted(took)[len(took) // 10])


def measure_frozen(steps: int) -> tuple[Steps, Steps]:
    """One run; the steps while Holdfast was frozen, and the steps while it was awake."""
    freezer = Freezer()
    found = measure(freezer.run, steps)
    return summary(freezer.within(found, frozen=True)), summary(freezer.within(found, frozen=False))


class Freezer:
    """Runs a training under Holdfast, and stops Holdfast's own processes every other while."""

    def __init__(self) -> None:
        self.changes: list[tuple[float, bool]] = []  # when, and whether frozen from then on

    def run(self, command: list[str], side: Path) -> None:
        front = start_holdfast(command, side)
        try:
            while front.poll() is None and not (side / "training").exists():
                time.sleep(0.1)
            ours = [process for process in _family(front.pid) if not _is_task(process)]
            while front.poll() is None and not (side / "steps.json").exists():
                self._change(ours, frozen=len(self.changes) % 2 == 0)
                time.sleep(WHILE_S)
            self._change(ours, frozen=False)
        finally:
            _finish([front], side)

    def _change(self, ours: list[psutil.Process], *, frozen: bool) -> None:
        for process in ours:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)
        self.changes.append((time.monotonic(), frozen))

    def within(self, steps: list[Step], *, frozen: bool) -> list[Step]:
        return [
            step
            for (start_s, is_frozen), (end_s, _) in pairwise(self.changes)
            if is_frozen == frozen
            for step in steps
            if step.began_s >= start_s + SETTLE_S and step.began_s + step.took_s <= end_s
        ]


def _family(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def _is_task(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()[1:2] == [str(Path(__file__).absolute())]
    return True


def measure(run: Callable[[list[str], Path], None], steps: int) -> list[Step]:
    side = Path(tempfile.mkdtemp(prefix="holdfast-overhead-"))
    command = [sys.executable, str(Path(__file__).absolute()), "--child", "--steps", str(steps)]
    try:
        run(command, side)
        told = json.loads((side / "steps.json").read_text())
        return [Step(*one) for one in told][WARM_UP_STEPS:]
    finally:
        shutil.rmtree(side, ignore_errors=True)


def run_alone(command: list[str], side: Path) -> None:
    """Each worker's output straight into a file, and nobody watches."""
    ports = _free_ports(WORKERS)
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    started = []
    for index in range(WORKERS):
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        env = {"TF_CONFIG": json.dumps(config), **_env(side)}
        with (side / f"{index}.log").open("ab") as log:
            started.append(_start(command, env, log.fileno()))
    _finish(started, side)


def run_holdfast(command: list[str], side: Path) -> None:
    _finish([start_holdfast(command, side)], side)


def start_holdfast(command: list[str], side: Path) -> subprocess.Popen[bytes]:
    holdfast = [sys.executable, "-m", "holdfast", "run", "--workers", str(WORKERS)]
    with (side / "0.log").open("ab") as log:
        whole = [*holdfast, "--run-dir", str(side / "run"), "--", *command]
        return _start(whole, _env(side), log.fileno())


RUNS = {"alone": run_alone, "holdfast": run_holdfast}


def _env(side: Path) -> dict[str, str]:
    return {**os.environ, SIDE: str(side), "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": ""}


def _start(command: list[str], env: dict[str, str], log_fd: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        start_new_session=True,  # as a task: where the scheduler groups by session, one each
    )


def _finish(started: list[subprocess.Popen[bytes]], side: Path) -> None:
    deadline_s = time.monotonic() + RUN_S_MAX
    try:
        codes = [process.wait(max(0.1, deadline_s - time.monotonic())) for process in started]
        if any(codes):
            tail = (side / "0.log").read_text(errors="replace")[-2000:]
            sys.exit(f"the training failed ({codes}):\n{tail}")
    finally:
        for process in started:
            process.terminate()
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]


def train(steps: int) -> None:
    """One worker: a layer, an all-reduce and a printed line every step; notes each step's time."""
    import tensorflow as tf  # noqa: PLC0415 - only the child has need of it

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(
            tf.random.normal([FEATURES, UNITS], seed=1), aggregation=tf.VariableAggregation.MEAN
        )
    features = tf.random.normal([BATCH, FEATURES], seed=2)

    def replica_step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(features @ weights)))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    def all_step() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica_step), axis=None)

    train_step = tf.function(all_step)
    side = Path(os.environ[SIDE])
    took: list[tuple[float, float]] = []
    for step in range(1, steps + 1):
        began_s = time.monotonic()
        loss = float(train_step())
        print(f"step {step} loss {loss:.6f}", flush=True)
        took.append((began_s, time.monotonic() - began_s))
        if step == WARM_UP_STEPS:
            (side / "training").touch()
    if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
        draft = side / "draft.json"
        draft.write_text(json.dumps(took))
        draft.rename(side / "steps.json")


if __name__ == "__main__":
    main()
