"""What `holdfast attach` costs a training, and how soon it names a stopped task.

A session cluster of three workers trains without one another's help. worker:2 is stopped by
SIGSTOP. Then worker:0's steps are counted in windows that alternate: nobody looks, and `attach
--watch --every-s 1` looks. The ratio of the two is what counts: machines are noisy.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.cluster import Cluster

ROLES = {"ps": 1, "worker": 3}
STEPS = "100000000"
TRAINS_S_MAX = 120.0
NAMED_S_MAX = 5.0
RATIO_MIN = 0.95
HOLDFAST = (sys.executable, "-m", "holdfast", "attach")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window-s", type=float, default=10.0)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    options = ("--steps", STEPS, "--step-ms", "5")
    with (
        tempfile.TemporaryDirectory() as folder,
        Cluster("session", Path(folder), roles=ROLES, options=options) as cluster,
    ):
        wait_for_steps(cluster, "worker:0")
        wait_for_steps(cluster, "worker:2")
        target = str(cluster.config_file("worker:0"))
        os.killpg(cluster.started["worker:2"].pid, signal.SIGSTOP)
        named = [name_it(target) for _ in range(3)]
        print(f"worker:2 stopped: named in {max(named):.1f} s at most of {len(named)} tries")
        pairs = [
            (steps_in(cluster, asked.window_s), watched(cluster, target, asked.window_s))
            for _ in range(asked.rounds)
        ]
    ratios = [with_it / without for without, with_it in pairs]
    for number, (without, with_it) in enumerate(pairs, 1):
        print(f"round {number}: {without:6.1f} steps/s alone, {with_it:6.1f} while attached")
    middle = statistics.median(ratios)
    print(
        f"steps while attached / alone: median {middle:.3f} (single {min(ratios):.3f}"
        f" to {max(ratios):.3f}); bar {RATIO_MIN}"
    )
    return 0 if middle >= RATIO_MIN and max(named) <= NAMED_S_MAX else 1


def name_it(target: str) -> float:
    """Seconds from the call to the answer that names the stopped task."""
    began_s = time.monotonic()
    done = subprocess.run(
        [*HOLDFAST, "--format", "json", target], check=False, capture_output=True, text=True
    )
    first = json.loads(done.stdout)["findings"][0]
    assert (first["cause"], first["culprit"]) == ("stalled-at-start", "worker:2"), first
    return time.monotonic() - began_s


def last_step(cluster: Cluster, task: str) -> int:
    with cluster.log_file(task).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode(errors="replace").splitlines()
    steps = [line.split()[1] for line in lines if line.startswith("step ")]
    return int(steps[-1]) if steps else 0


def wait_for_steps(cluster: Cluster, task: str) -> None:
    deadline_s = time.monotonic() + TRAINS_S_MAX
    while last_step(cluster, task) == 0:
        if time.monotonic() > deadline_s:
            sys.exit(f"{task} does not train:\n{cluster.log(task)[-2000:]}")
        time.sleep(0.2)


def steps_in(cluster: Cluster, window_s: float) -> float:
    """Steps of the whole job a second: what it reports comes every 20 of them."""
    before, began_s = last_step(cluster, "worker:0"), time.monotonic()
    time.sleep(window_s)
    return (last_step(cluster, "worker:0") - before) / (time.monotonic() - began_s)


def watched(cluster: Cluster, target: str, window_s: float) -> float:
    with watching(target):
        return steps_in(cluster, window_s)


@contextlib.contextmanager
def watching(target: str) -> Iterator[None]:
    """From its second look on: starting a Python takes a core for half a second."""
    command = [*HOLDFAST, "--watch", "--every-s", "1", target]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(5.0)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
