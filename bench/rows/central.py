"""Measures the central way: `python -m bench.rows.central`; a missed bar is exit 1.

Four workers append 1024 or 8192 rows of 100 float32 at a time, and the clock stops when the last
row is in a published HDF5 segment on the disk. Beside it, in every round, one process writes the
same bytes with plain h5py in the same batches: once as people do, which leaves them in the memory
of the kernel, and once with an fsync at its end. The bar is the middle ratio of the rounds to the
latter, from 4 GB on, because both are on the disk then; the others are shown. CPU time is that of
all processes, without their start: it says more than the clock where others use the machine, too.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
from bench.rows.running import end_all, own, terminable, touch

from holdfast import rows as holdfast_rows
from holdfast.rows.central_state import published

COLUMNS = 100
JUDGED = "plain h5py, fsync"
WORKERS = 4
RATIO_MIN = 0.8
JUDGED_FROM_MB = 4000
SECONDS_MAX = 600


def main() -> int:
    terminable()
    asked = _asked()
    if asked.as_worker:
        return _work(asked.dir, asked.as_worker, asked.batches, asked.rows[0])
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    try:
        missed = sum(
            _measure(mb, rows, asked.rounds, asked.dir) for mb in asked.mb for rows in asked.rows
        )
    finally:
        end_all()
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _measure(mb: int, rows: int, rounds: int, folder: Path) -> int:
    """How many bars runs of this size missed."""
    batches = max(WORKERS, mb * 1_000_000 // (rows * COLUMNS * 4))
    batches -= batches % WORKERS
    total_mb = batches * rows * COLUMNS * 4 / 1e6
    print(f"\n{total_mb:.0f} MB a run, {rows} rows a batch")
    ways: dict[str, Callable[[Path], tuple[float, float]]] = {
        "plain h5py": lambda place: _plain(place, batches, rows, is_synced=False),
        JUDGED: lambda place: _plain(place, batches, rows, is_synced=True),
        "central": lambda place: _central(place, batches, rows),
    }
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            with tempfile.TemporaryDirectory(dir=folder, prefix="rows-central-") as place:
                wall_s, cpu_s = run(Path(place))
            walls[name].append(wall_s)
            cpus[name].append(cpu_s)
    for name in ways:
        best, cpu = min(walls[name]), min(cpus[name])
        print(f"{name:18s} {total_mb / best:7.0f} MB/s best, {total_mb / cpu:7.0f} MB/cpu-s")
    return _judge(walls, is_judged=total_mb >= JUDGED_FROM_MB)


def _judge(walls: dict[str, list[float]], *, is_judged: bool) -> int:
    missed = 0
    for name in (JUDGED, "plain h5py"):
        pairs = zip(walls[name], walls["central"], strict=True)
        ratio = statistics.median(plain / ours for plain, ours in pairs)
        word, bar = "    ", ""
        if is_judged and name == JUDGED:
            word, bar = ("PASS" if ratio >= RATIO_MIN else "FAIL"), f" (bar: {RATIO_MIN})"
            missed += ratio < RATIO_MIN
        print(f"{word}  central is {ratio:.2f} x {name}{bar}", flush=True)
    return missed


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rows.central", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, nargs="+", default=[512, 4096], help="of one run")
    parser.add_argument("--rows", type=int, nargs="+", default=[1024, 8192], help="of a batch")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--as-worker", default="", help=argparse.SUPPRESS)
    parser.add_argument("--batches", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _cpu_of_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _batch(rows: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    return np.random.default_rng(1).random((rows, COLUMNS), dtype=np.float32)


def _plain(place: Path, batches: int, rows: int, *, is_synced: bool) -> tuple[float, float]:
    batch = _batch(rows)
    touch(place, batches * batch.nbytes)
    began_s, cpu_s = time.monotonic(), _cpu_s()
    with h5py.File(place / "plain.h5", "w") as file:
        made = file.create_dataset(
            "x", (0, COLUMNS), "<f4", maxshape=(None, COLUMNS), chunks=(1024, COLUMNS)
        )
        for turn in range(batches):
            made.resize((turn + 1) * rows, axis=0)
            made[turn * rows :] = batch
    if is_synced:
        with (place / "plain.h5").open("rb") as written:
            os.fsync(written.fileno())
    return time.monotonic() - began_s, _cpu_s() - cpu_s


def _central(place: Path, batches: int, rows: int) -> tuple[float, float]:
    with holdfast_rows.central(place) as center:
        workers = [
            own(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "bench.rows.central", "--dir", place),
                        *("--as-worker", f"worker:{number}", "--batches", f"{batches // WORKERS}"),
                        *("--rows", str(rows)),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            for number in range(WORKERS)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        touch(place, batches * rows * COLUMNS * 4)
        before_s = _cpu_of_s(center.pid)
        began_s = time.monotonic()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(b"go\n")
            worker.stdin.flush()
        workers_s = sum(float(worker.communicate(timeout=SECONDS_MAX)[0]) for worker in workers)
        written_s = time.monotonic() - began_s
        center.flush()
        took_s = time.monotonic() - began_s
        compactor_s = _cpu_of_s(center.pid) - before_s
    assert published(place).rows["x"] == batches * rows
    print(
        f"  workers: free after {written_s:.2f} s, {workers_s:.2f} s of CPU; compactor: done after "
        f"{took_s:.2f} s, {compactor_s:.2f} s of CPU"
    )
    shutil.rmtree(place / "rows")
    return took_s, workers_s + compactor_s


def _work(place: Path, task: str, batches: int, rows: int) -> int:
    batch = _batch(rows)
    with holdfast_rows.open(place, task=task, way="central") as writer:
        writer.dataset("x", dtype="<f4", shape=(COLUMNS,))
        print("ready", flush=True)
        sys.stdin.readline()
        cpu_s = _cpu_s()
        for _ in range(batches):
            writer.append("x", batch)
    print(_cpu_s() - cpu_s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
