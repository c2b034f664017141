"""The faults that a workload commits itself: at a step, after a time, or when it is told to."""

import ctypes
import math
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import faulty

GROWN_MB_MAX = 4096
GROW_EVERY_S = 0.1
TOLD_EVERY_S = 0.02
FLOOD_BYTES = 200 << 20
FLOOD_LINE = b"the same line, again and again, as a loop that warns in every step writes it\n"
FILES_LEFT = 8
STEP_S_LEAST = 0.05  # of a straggler's usual step


class Faults:
    """What this task does wrong, and what it does not do wrong yet."""

    def __init__(self, told: faulty.Options) -> None:
        self._told = told
        self._due = True  # until it has happened
        self.step_pause_s = told.step_pause_s
        self.input_pause_s = 0.0
        self._kept: list[bytes] = []

    def start(self, *, in_steps: bool) -> None:
        """Those that wait for no step; call it first, once TensorFlow is imported."""
        # These threads are daemons because a healthy end must not wait for a fault that is not due.
        if self._told.fail_after_s != math.inf or (self._told.fail_when and not in_steps):
            threading.Thread(target=self._fail_later, daemon=True).start()
        if self._told.grows_from_start:
            self._grow_on()

    def step_done(self, step: int) -> None:
        """Between two steps: in the program's own code."""
        if self._due and (step >= self._told.fail_at_step or self._is_told()):
            self._commit()

    def note(self) -> None:
        """Write down that it happens now."""
        if self._told.fault_at_file:
            fresh = Path(f"{self._told.fault_at_file}.fresh")
            fresh.write_text(f"{time.time():.3f}")
            fresh.rename(self._told.fault_at_file)

    def _is_told(self) -> bool:
        return self._told.fail_when is not None and Path(self._told.fail_when).exists()

    def _commit(self) -> None:
        self._due = False
        self.note()
        lasting: dict[str, Callable[[], None]] = {
            "straggler": self._straggle,
            "slow-input": self._slow_input,
            "grow": self._grow_on,
            "flood": flood,
        }
        how = self._told.fail_how
        if how in lasting:
            lasting[how]()
        elif how in faulty.DAMAGES:
            # Between two steps nobody saves: what is damaged is whole, and stays the newest.
            damage_newest(Path(self._told.checkpoint_dir or ""), how)
            fail("sigkill-self")
        else:
            fail(how)

    def _straggle(self) -> None:
        usual_s = max(self._told.step_s, STEP_S_LEAST)
        self.step_pause_s += usual_s * (self._told.slow_factor - 1)

    def _slow_input(self) -> None:
        self.input_pause_s = self._told.slow_input_s

    def _fail_later(self) -> None:
        if self._told.fail_when:
            while not self._is_told():
                time.sleep(TOLD_EVERY_S)
        else:
            time.sleep(self._told.fail_after_s)
        # An exception ends only this thread, and the main thread may be inside join() for ever.
        try:
            self._commit()
        except SystemExit as ended:
            os._exit(1 if ended.code else 0)
        except (RuntimeError, OSError):
            traceback.print_exc()
            os._exit(1)

    def _grow_on(self) -> None:
        threading.Thread(target=self._grow, daemon=True).start()

    def _grow(self) -> None:
        chunk_mb = self._told.grow_mb_per_s * GROW_EVERY_S
        while len(self._kept) * chunk_mb < GROWN_MB_MAX:
            # Repeating a byte other than zero writes every page; bytes(n) would only reserve them.
            self._kept.append(b"x" * int(chunk_mb * 2**20))
            time.sleep(GROW_EVERY_S)


def fail(how: str) -> NoReturn:
    """Nothing comes after it."""
    if how in STANDSTILLS:
        STANDSTILLS[how]()
    match how:
        case "exception":
            raise RuntimeError("the workload was told to fail with an exception")
        case "exit0":
            sys.exit(0)
        case "exit1":
            sys.exit(1)
        case "segfault":
            ctypes.string_at(0)
        case "sigkill-self":
            os.kill(os.getpid(), signal.SIGKILL)
    os.abort()


def deadlock() -> None:
    """Two threads, two locks: each holds the one for which the other waits."""
    cache, queue = threading.Lock(), threading.Lock()
    both_hold_one = threading.Barrier(2)

    def prefetch() -> None:
        with queue:
            both_hold_one.wait()
            with cache:
                pass

    threading.Thread(target=prefetch, name="prefetch", daemon=True).start()
    with cache:
        both_hold_one.wait()
        with queue:
            pass


def deadlock_with_itself() -> None:
    """One thread, one lock that it already holds."""
    lock = threading.Lock()

    def count() -> None:
        with lock:
            pass

    with lock:
        count()


def wait_for_the_dead() -> None:
    """A lock whose holder ended without giving it back."""
    lock = threading.Lock()
    holder = threading.Thread(target=lock.acquire, name="writer")
    holder.start()
    holder.join()
    with lock:
        pass


def wait_by_looking() -> None:
    """An endless loop that takes a whole core."""
    ready = False
    looked = 0
    while not ready:
        looked += 1
        ready = looked < 0


def flood() -> None:
    lines = FLOOD_LINE * 64
    for _ in range(FLOOD_BYTES // len(lines)):
        sys.stdout.buffer.write(lines)
    sys.stdout.flush()


def open_too_many() -> NoReturn:
    """As a program that never closes its record files does, under a low limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + FILES_LEFT, hard))
    kept = []
    while True:
        kept.append(Path(__file__).open())  # noqa: SIM115 - that is the fault


def damage_newest(folder: Path, how: str) -> None:
    """As a full disk, a lost host or a careless hand leaves the checkpoint that comes next."""
    newest = (folder / "checkpoint").read_text().partition('"')[2].partition('"')[0]
    shard = folder / f"{newest}.data-00000-of-00001"
    if how == "no-index":
        (folder / f"{newest}.index").unlink()
    else:
        os.truncate(shard, shard.stat().st_size // 2 if how == "cut-shard" else 0)


STANDSTILLS: dict[str, Callable[[], None]] = {
    "deadlock": deadlock,
    "self-deadlock": deadlock_with_itself,
    "orphaned-lock": wait_for_the_dead,
    "livelock": wait_by_looking,
    "many-files": open_too_many,
}
