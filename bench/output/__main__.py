"""Measures output capture: `python -m bench.output`. Bars are printed as they are.

Ratios count, not absolute numbers: every round measures each way once, next to the limit.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.output import bars, table
from bench.output.deaths import measure_deaths
from bench.output.envs import NotAvailableError
from bench.output.flood import LINE_BYTES
from bench.output.measure import measure
from bench.output.table import Results
from bench.output.terminal import measure_stop
from bench.output.ways import LIMIT, LIVE, PEERS, QUIET, Ground, Way

FULL_MB = 1000
FULL_SECONDS = 400.0
PARTS = ("one", "four", "stop", "deaths")


def main() -> None:
    asked = _asked()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=asked.dir))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    lines: list[str] = []
    try:
        if "one" in asked.parts:
            ways = (LIMIT, QUIET, LIVE, *(PEERS if asked.peers else ()))
            lines += bars.loss_bars(_compare(ways, 1, asked, folder))
        if "four" in asked.parts:
            results = _compare((LIMIT, QUIET, LIVE), 4, asked, folder)
            lines += bars.loss_bars(results)
            lines += bars.speed_bars(results) + bars.memory_bars(results)
        if "stop" in asked.parts:
            lines += _or_why("stopped terminal", lambda: _stops(asked, folder))
        if "deaths" in asked.parts:
            lines += _or_why(
                "deaths", lambda: bars.death_bars(measure_deaths(asked.deaths, folder))
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("", f"bars (load is now {os.getloadavg()[0]:.1f})", *lines, sep="\n")
    sys.exit(any(bars.LOST in line for line in lines))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.output", description=__doc__)
    parser.add_argument("--mb", type=int, default=256, help="what each child writes")
    parser.add_argument("--seconds", type=float, default=40, help="how long a child may flood")
    parser.add_argument("--full", action="store_true", help=f"{FULL_MB} MB a child")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stop-s", type=float, default=30, help="how long the terminal is stopped")
    parser.add_argument("--stops", type=int, default=2, help="how often it is stopped")
    parser.add_argument("--deaths", type=int, default=200)
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--dir", help="where the files go  [default: the temporary directory]")
    asked = parser.parse_args()
    if asked.full:
        asked.mb, asked.seconds = FULL_MB, FULL_SECONDS
    return asked


def _compare(
    ways: tuple[Way, ...], children: int, asked: argparse.Namespace, folder: Path
) -> Results:
    """Round after round, every second one backwards, so that drift hits all ways alike."""
    results: Results = {way.name: [] for way in ways}
    whys: dict[str, str] = {}
    for number in range(asked.rounds):
        for way in ways[:: -1 if number % 2 else 1]:
            if way.name in whys:
                continue
            ground = Ground(
                folder=folder / f"{children}-{number}",
                children=children,
                lines=asked.mb * 1_000_000 // LINE_BYTES,
                seconds=asked.seconds,
            )
            try:
                results[way.name].append(measure(way, ground))
            except NotAvailableError as error:
                whys[way.name] = str(error)
                results[way.name].clear()
    title = f"{children} x {asked.mb} MB, median of {asked.rounds} rounds"
    saturated = children >= (os.cpu_count() or 1)
    print("", *table.rows(results, whys, title, saturated=saturated), sep="\n", flush=True)
    return results


def _stops(asked: argparse.Namespace, folder: Path) -> list[str]:
    return bars.stop_bars(
        [measure_stop(folder / "stop", stop_s=asked.stop_s) for _ in range(asked.stops)]
    )


def _or_why(what: str, bars_of: Callable[[], list[str]]) -> list[str]:
    try:
        return bars_of()
    except NotAvailableError as error:
        return [bars.bar(held=False, text=f"{what}: not measured: {error}")]


if __name__ == "__main__":
    main()
