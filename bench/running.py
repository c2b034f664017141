"""Judges Holdfast on jobs that are struck while they train: `python -m bench.running`.

Every scenario of bench/strike_scenarios is run for real under `holdfast run`, and judged by
its run directory alone: the first cause and culprit, and the seconds from the strike to the
line in findings.jsonl.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.cluster import WORKLOADS
from bench.judging import Table, is_asked, options
from bench.strike_scenarios import QUICK, scenarios
from bench.striking import Row, strike

HEADS = ("scenario", "expected", "told first", "s", "")
WIDTHS = (52, 44, 44, 7)


def main() -> int:
    asked = _asked()
    chosen = [
        one
        for one in scenarios()
        if is_asked(one.name, one.strike, asked, QUICK) and asked.workload in {None, one.workload}
    ]
    if asked.list:
        print("\n".join(f"{one.name:{WIDTHS[0]}} {one.expected}" for one in chosen))
        return 0
    table = Table("running", HEADS, WIDTHS)
    with ThreadPoolExecutor(asked.jobs) as pool:
        work = partial(strike, folder=table.folder, keep=asked.keep)
        rows = [
            show(table, row, number, len(chosen))
            for number, row in enumerate(pool.map(work, chosen), 1)
        ]
    return conclude(table, rows)


def show(table: Table, row: Row, number: int, of: int) -> Row:
    seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
    told = f"{row.cause} {row.culprit}" if row.cause else "nothing"
    table.show(row, row.expected, told, seconds)
    for alarm in row.false_alarms:
        print(f"    false alarm: {alarm}")
    for other in row.also:
        print(f"    also: {other}")
    print(f"    {number} of {of}, {row.took_s:.0f} s", flush=True)
    return row


def conclude(table: Table, rows: list[Row]) -> int:
    alarms = sum(len(row.false_alarms) for row in rows)
    return table.conclude(rows, f"{alarms} false alarms")


def _asked() -> argparse.Namespace:
    parser = options(__doc__)
    parser.add_argument("--workload", choices=sorted(WORKLOADS))
    parser.add_argument("--jobs", type=int, default=1, help="at once; hosts come one at a time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
