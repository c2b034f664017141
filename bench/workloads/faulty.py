"""The options every workload takes, and the faults it can be told to commit."""

import argparse
import ctypes
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

GROWN_MB_MAX = 4096
GROW_EVERY_S = 0.1
FAILURES = ("exception", "exit0", "segfault", "abort", "sigkill-self")


@dataclass(frozen=True)
class Options:
    """What this task was told to do; faults meant for other tasks are already left out."""

    steps: int
    step_pause_s: float
    checkpoint_dir: str | None
    fail_how: str
    fail_at_step: float  # infinity: never
    fail_after_s: float  # infinity: never
    grow_mb_per_s: float
    flags: frozenset[str]  # those of the workload's own that were given


def options(*, stepless: Collection[str], flags: Collection[str] = ()) -> Options:
    """Read the command line; a task whose role is stepless can only fail after seconds."""
    parser = _parser()
    for flag in flags:
        parser.add_argument(flag, action="append_const", const=flag, dest="flags", default=[])
    given = parser.parse_args()
    if (given.fail_at, given.fail_after_s) != (math.inf, math.inf) and given.fail_task is None:
        parser.error("nobody was told to fail: add --fail-task role:index")
    if given.grow_mb_per_s > 0 and given.grow_task is None:
        parser.error("nobody was told to grow: add --grow-task role:index")
    if given.fail_at != math.inf and given.fail_task.partition(":")[0] in stepless:
        parser.error(f"{given.fail_task} takes no steps: give --fail-after-s, not --fail-at")
    here = os.environ.get("HOLDFAST_TASK", "")  # faults have no task to strike without it
    fails = given.fail_task == here
    return Options(
        steps=given.steps,
        step_pause_s=given.step_ms / 1000,
        checkpoint_dir=given.checkpoint_dir,
        fail_how=given.fail_how,
        fail_at_step=given.fail_at if fails else math.inf,
        fail_after_s=given.fail_after_s if fails else math.inf,
        grow_mb_per_s=given.grow_mb_per_s if given.grow_task == here else 0,
        flags=frozenset(getattr(given, "flags", ())),
    )


def start_timed_faults(told: Options) -> None:
    """Start the faults that wait for no step; call it first, once TensorFlow is imported."""
    # These threads are daemons because a healthy end must not wait for a fault that is not due.
    if told.fail_after_s != math.inf:
        threading.Thread(target=_fail_later, args=(told,), daemon=True).start()
    if told.grow_mb_per_s > 0:
        threading.Thread(target=_grow, args=(told.grow_mb_per_s,), daemon=True).start()


def fail(how: str) -> NoReturn:
    match how:
        case "exception":
            raise RuntimeError("the workload was told to fail with an exception")
        case "exit0":
            sys.exit(0)
        case "segfault":
            ctypes.string_at(0)
        case "sigkill-self":
            os.kill(os.getpid(), signal.SIGKILL)
    os.abort()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--step-ms", type=float, default=10, help="pause after each step")
    parser.add_argument("--checkpoint-dir", help="save here, and resume from here")
    parser.add_argument("--fail-at", type=int, default=math.inf, metavar="STEP")
    parser.add_argument("--fail-after-s", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--fail-how", choices=FAILURES, default="exception")
    parser.add_argument("--fail-task", metavar="ROLE:INDEX")
    parser.add_argument("--grow-mb-per-s", type=float, default=0)
    parser.add_argument("--grow-task", metavar="ROLE:INDEX")
    return parser


def _fail_later(told: Options) -> None:
    time.sleep(told.fail_after_s)
    # An exception ends only this thread, and the main thread may be inside join() for ever.
    try:
        fail(told.fail_how)
    except SystemExit:
        os._exit(0)
    except RuntimeError:
        traceback.print_exc()
        os._exit(1)


def _grow(mb_per_s: float) -> None:
    chunk_mb = mb_per_s * GROW_EVERY_S
    kept: list[bytes] = []
    while len(kept) * chunk_mb < GROWN_MB_MAX:
        # Repeating a byte other than zero writes every page; bytes(n) would only reserve them.
        kept.append(b"x" * int(chunk_mb * 2**20))
        time.sleep(GROW_EVERY_S)
    threading.Event().wait()
