"""Measures what Holdfast costs inside of a training program: `python -m bench.in_task`.

How long it takes to load on top of TensorFlow, and how much it adds to a step of a loop of one's
own, of Keras and of MonitoredTrainingSession: with somebody who listens, and once more with nobody
there, as after the agent's death. A missed bar is exit 1.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench.paired import paired_ratio

from holdfast.agent.in_task_env import in_task_env

IMPORT_S_MAX = 0.050
STEP_S_MAX = 20e-6
PROGRAM = Path(__file__).with_name("in_task_steps.py")


def main() -> int:
    asked = _asked()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    missed = 0
    for listens in (True, False):
        print("with somebody who listens" if listens else "with nobody who listens", flush=True)
        missed += judge(measured(asked, listens=listens))
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--imports", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=1200, help="of blocks, for each way")
    parser.add_argument("--block", type=int, default=5, help="steps in a row")
    return parser.parse_args()


def measured(asked: argparse.Namespace, *, listens: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        run_dir = Path(made)
        for folder in ("in-task", "stacks"):
            (run_dir / folder).mkdir()
        env = in_task_env({**os.environ, "HOLDFAST_TASK": "worker:0"}, run_dir)
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        counts = [str(asked.imports), str(asked.pairs), str(asked.block)]
        with _listener(run_dir / "in-task/told.sock") if listens else contextlib.nullcontext():
            done = subprocess.run(
                [sys.executable, str(PROGRAM), *counts],
                env={**env, **quiet},
                stdout=subprocess.PIPE,
                check=True,
            )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@contextlib.contextmanager
def _listener(path: Path) -> Iterator[None]:
    """Reads whatever comes, as the watcher does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(path))
        heard = [0]

        def listen() -> None:
            while ear.recv(65_536) != b"end":
                heard[0] += 1

        thread = threading.Thread(target=listen)
        thread.start()
        yield
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
            mouth.connect(str(path))
            mouth.send(b"end")
        thread.join()
        print(f"      {heard[0]} datagrams came")


def judge(found: dict[str, Any]) -> int:
    """How many bars it missed."""
    (fresh_s, fresh_cpu_s), *again = found["imports"]
    import_s, cpu_s = (median(one) for one in zip(*again, strict=True))
    held = import_s <= IMPORT_S_MAX
    print(
        f"{_word(held=held)}  import on top of TensorFlow: {1000 * import_s:.1f} ms, of them"
        f" {1000 * cpu_s:.1f} ms on a core, the median of {len(again)}"
        f" (bar: {1000 * IMPORT_S_MAX:.0f} ms)"
    )
    on_core = f"{1000 * fresh_cpu_s:.1f} ms on a core"
    print(f"      from its source, once: {1000 * fresh_s:.1f} ms, of them {on_core}")
    if not held and cpu_s <= IMPORT_S_MAX:
        print("      it waited for a core: this machine is too busy to tell")
    missed = int(not held)
    for name, pairs in found["steps"].items():
        added, low, high = _added(pairs)
        held = added <= STEP_S_MAX
        missed += not held
        step_us = 1e6 * median(without for without, _ in pairs)
        print(
            f"{_word(held=held)}  {name}: adds {1e6 * added:.2f} us to a step of {step_us:.0f} us"
            f" (95 % of {len(pairs)} pairs: {1e6 * low:.2f} to {1e6 * high:.2f};"
            f" bar: {1e6 * STEP_S_MAX:.0f} us)"
        )
        if not held and low <= STEP_S_MAX:
            print("      the interval lies on both sides of the bar: this machine is too noisy")
    return missed


def _added(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Seconds a step: of the ratio, which a machine that slows both sides down leaves alone."""
    without = float(np.median([one for one, _ in pairs]))
    ratio = paired_ratio(pairs)
    return tuple((one - 1) * without for one in (ratio.middle, ratio.low, ratio.high))  # type: ignore[return-value]


def _word(*, held: bool) -> str:
    return "ok  " if held else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
