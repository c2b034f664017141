"""Measures appends of rows: `python -m bench.rows`; a missed bar is exit 1.

Rows are 100 float32. Every round runs each way once; the figures are those of the best round,
and ratios are the middle one of the rounds. A worker appends until its time or its bytes are
over, and the clock stops when its file is closed. Each of several workers has a file of its own:
nothing else is safe with the peers, too.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench.rows.appending import Amount, Case, Place, Rounds, absent, growth, measure, ratio
from bench.rows.growing import GROWTH_BYTES_MAX, measure_growth
from bench.rows.running import end_all, terminable
from bench.rows.ways import DISK, LIMIT, OURS, PEERS, PLAIN, PROCESS, Way

SIZES = (1, 32, 1024, 8192)
WORKERS = (1, 4)
TIMES_MIN = {1: 20.0, 32: 10.0, 8192: 0.8}
TOGETHER_MIN = 1.6
TOGETHER_ROWS = 32
MEMORY = Path("/dev/shm")
PARTS = ("append", "memory")


def main() -> int:
    terminable()
    asked = _asked()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    missed = 0
    try:
        if "append" in asked.parts:
            missed += judge_appends(asked)
        if "memory" in asked.parts:
            missed += judge_memory(1_000_000_000 if asked.quick else 10_000_000_000, asked.dir)
    finally:
        end_all()
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rows", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="a worker of one run")
    parser.add_argument("--mb", type=int, default=256, help="at most, a worker of one run")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()), help="the disk")
    parser.add_argument("--no-peers", action="store_true", help="only ours and plain h5py")
    parser.add_argument("--quick", action="store_true", help="one short round, and 1 GB")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.seconds = min(asked.rounds, 1), min(asked.seconds, 0.3)
    return asked


def judge_appends(asked: argparse.Namespace) -> int:
    """How many bars it missed."""
    ways: tuple[Way, ...] = (LIMIT, PLAIN, *OURS)
    if not asked.no_peers:
        missing = absent()
        for way, why in missing.items():
            print(f"      {way.name} is absent: {why}")
        ways += tuple(way for way in PEERS if way not in missing)
    places = [Place("disk", asked.dir)]
    if os.access(MEMORY, os.W_OK):
        places.insert(0, Place("memory", MEMORY))
    missed = 0
    for place in places:
        found: Rounds = {}
        cases = [Case(place, rows, workers) for rows in SIZES for workers in WORKERS]
        for _ in range(asked.rounds):
            for case in cases:
                for way in ways:
                    amount = Amount(asked.seconds, asked.mb * 1_000_000 // case.workers)
                    found.setdefault((case, way), []).append(measure(way, case, amount))
        for case in cases:
            show(case, ways, found)
        missed += judge_place(place, found)
    return missed


def show(case: Case, ways: tuple[Way, ...], found: Rounds) -> None:
    """One table: rows a batch, workers, place."""
    many = "1 worker" if case.workers == 1 else f"{case.workers} workers"
    print(f"\n{case.rows} x 100 float32 a batch, {many}, in {case.place.name}")
    print(f"      {'':34}{'MB/s':>8}{'µs/append':>12}{'CPU µs':>10}{'x plain':>9}  outlives")
    for way in ways:
        best = max(found[case, way], key=lambda speed: speed.mb_per_s)
        print(
            f"      {way.name:34}{best.mb_per_s:8.0f}{best.append_us:12.1f}{best.cpu_us:10.1f}"
            f"{ratio(found, case, way):9.2f}  {way.keeps}",
            flush=True,
        )


def judge_place(place: Place, found: Rounds) -> int:
    bars = []
    for rows, least in TIMES_MIN.items():
        times = ratio(found, Case(place, rows, 1), PROCESS)
        text = f"{rows} rows a batch: {times:.1f} x plain h5py (bar: {least:g})"
        bars.append((times >= least, text))
    together = {
        rows: growth(found, Case(place, rows, 1), Case(place, rows, 4), PROCESS) for rows in SIZES
    }
    text = f"four workers: {together[TOGETHER_ROWS]:.2f} x one with {TOGETHER_ROWS} rows a batch"
    bars.append((together[TOGETHER_ROWS] >= TOGETHER_MIN, f"{text} (bar: {TOGETHER_MIN})"))
    print()
    for held, text in bars:
        print(f"{_word(held=held)}  {place.name}: {text}")
    rest = ", ".join(f"{rows} rows {times:.2f}" for rows, times in together.items())
    print(f"      {place.name}: four workers, x one: {rest}")
    for rows in SIZES:
        cost_us = min(speed.append_us for speed in found[Case(place, rows, 1), DISK])
        print(f"      {place.name}: an append of {rows} rows to the disk takes {cost_us:.0f} µs")
    return sum(not held for held, _ in bars)


def judge_memory(total_bytes: int, place: Path) -> int:
    grown = measure_growth(total_bytes, place)
    held = grown.growth_bytes <= GROWTH_BYTES_MAX
    print(
        f"{_word(held=held)}  memory after {total_bytes / 1e10:g} GB {grown.early_bytes / 1e6:.1f}"
        f" MB, after {total_bytes / 1e9:g} GB {grown.late_bytes / 1e6:.1f} MB"
        f" (bar: {GROWTH_BYTES_MAX / 1e6:.0f} MB more)"
    )
    print(f"      at most {grown.disk_bytes_most / 1e9:.1f} GB of disk", flush=True)
    return 0 if held else 1


def _word(*, held: bool) -> str:
    return "PASS" if held else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
