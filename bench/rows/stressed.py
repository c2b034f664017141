"""What runs under stress: a worker, the compactor, a merge, a careless program: `python -m`."""

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable

from bench.rows.programs import append, steps
from bench.rows.told import BATCHES_MAX, declare, told

from holdfast import rows
from holdfast.rows.compactor import Compactor

PAUSE_S_MAX = 0.05
LOG_BYTES_MAX = 64 << 10
BRING_BYTES = 16 << 10
CARELESS_BATCHES = 250

over = threading.Event()


def worker(way: str, place: str, task: str, writer: str, acks: str) -> None:
    """Appends at random moments until it is told to end; every acknowledgement is noted."""
    number = int(writer)
    chance = random.Random(number)
    noted = os.open(acks, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
    with _opened(way, place, task) as opened:
        declare(opened)
        for step in steps(number, number, BATCHES_MAX):
            append(opened, step)
            os.write(noted, json.dumps([step.batch, sorted(step.rows)]).encode() + b"\n")
            if over.wait(PAUSE_S_MAX * chance.random() ** 4):
                break


def _opened(way: str, place: str, task: str) -> rows.Writer:
    if way == "locked":
        return rows.open(place, task=task, way="locked", bring_bytes=BRING_BYTES)
    if way == "central":
        return rows.open(place, task=task, way="central", log_bytes_max=LOG_BYTES_MAX)
    return rows.open(place, task=task, log_bytes_max=LOG_BYTES_MAX)


def compactor(logdir: str) -> None:
    """The central way's own process, until it is told to end."""
    with Compactor(logdir, segment_bytes=LOG_BYTES_MAX, age_s=0.2, warn=_warn) as one:
        while not over.wait(0.02):
            one.tick()
        one.drain()


def drain(logdir: str) -> None:
    """All that is in the logs, then the end."""
    with Compactor(logdir, segment_bytes=LOG_BYTES_MAX, age_s=0.2, warn=_warn) as one:
        one.drain()


def merge(logdir: str, output: str) -> None:
    rows.merge(logdir, output)


def careless(path: str, number: str, guard: str) -> None:
    """As many programs are: one file for all workers, mode 'a', locks off."""
    import h5py  # noqa: PLC0415 - the guard is installed before the file is opened

    if guard == "guard":
        from holdfast.rows import guard as rows_guard  # noqa: PLC0415

        rows_guard.install(task=f"worker:{number}")
    with h5py.File(path, "a", locking=False) as file:
        dataset = file.create_dataset(f"worker{number}", (0, 5), "<f4", maxshape=(None, 5))
        print("ready", flush=True)
        sys.stdin.readline()
        for batch in range(CARELESS_BATCHES):
            some = told("samples", int(number) * BATCHES_MAX + batch, 20)
            start = dataset.shape[0]
            dataset.resize(start + len(some), axis=0)
            dataset[start:] = some
            file.flush()


def _warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


PROGRAMS: dict[str, Callable[..., None]] = {
    one.__name__: one for one in (worker, compactor, drain, merge, careless)
}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
