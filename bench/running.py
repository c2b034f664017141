"""Judges Holdfast on jobs that are struck while they train: `python -m bench.running`.

Every scenario of bench/strike_scenarios is run for real under `holdfast run`, and judged by
its run directory alone: the first cause and culprit, and the seconds from the strike to the
line in findings.jsonl.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from bench.cluster import WORKLOADS
from bench.strike_scenarios import QUICK, scenarios
from bench.striking import Row, Scenario, strike

WIDTHS = (52, 44, 44, 7, 5)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
    asked = _asked()
    chosen = [one for one in scenarios() if _is_asked(one, asked)]
    if asked.list:
        print("\n".join(f"{one.name:{WIDTHS[0]}} {one.expected}" for one in chosen))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="holdfast-running-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    print(line("scenario", "expected", "told first", "s", ""))
    began_s = time.monotonic()
    with ThreadPoolExecutor(asked.jobs) as pool:
        work = partial(strike, folder=folder, keep=asked.keep)
        rows = [
            show(row, number, len(chosen)) for number, row in enumerate(pool.map(work, chosen), 1)
        ]
    return conclude(rows, folder, took_s=time.monotonic() - began_s)


def show(row: Row, number: int, of: int) -> Row:
    seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
    told = f"{row.cause} {row.culprit}" if row.cause else "nothing"
    word = f"WRONG: {row.complaint}" if row.complaint else "right"
    word = f"not tried: {row.lacks}" if row.lacks else word
    print(line(row.scenario, row.expected, told, seconds, word), flush=True)
    for alarm in row.false_alarms:
        print(f"    false alarm: {alarm}")
    for other in row.also:
        print(f"    also: {other}")
    print(f"    {number} of {of}, {row.took_s:.0f} s", flush=True)
    return row


def conclude(rows: Sequence[Row], folder: Path, *, took_s: float) -> int:
    rows = [row for row in rows if not row.lacks]
    wrong = [row for row in rows if row.complaint]
    alarms = sum(len(row.false_alarms) for row in rows)
    print(
        f"{len(rows) - len(wrong)} of {len(rows)} right, {alarms} false alarms,"
        f" {took_s / 60:.0f} min"
    )
    if wrong:
        print(f"wrong: {','.join(row.scenario for row in wrong)}; files in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


def line(*words: str) -> str:
    cells = [word.ljust(width) for word, width in zip(words, WIDTHS, strict=True)]
    return " ".join(cells).rstrip()


def _is_asked(scenario: Scenario, asked: argparse.Namespace) -> bool:
    names = asked.only.split(",") if asked.only else ["*"]
    named = any(scenario.strike == name or fnmatch(scenario.name, name) for name in names)
    quick = not asked.quick or scenario.name in QUICK
    return named and quick and asked.workload in {None, scenario.workload}


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", metavar="NAME[,NAME]", help="strikes, scenarios, or patterns of them"
    )
    parser.add_argument("--workload", choices=sorted(WORKLOADS))
    parser.add_argument("--quick", action="store_true", help="those that the tests run, too")
    parser.add_argument("--list", action="store_true", help="say what there is, and do nothing")
    parser.add_argument("--jobs", type=int, default=1, help="at once; hosts come one at a time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="journals, as fixtures have them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
