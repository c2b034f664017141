"""Breaks jobs in ways nobody wrote a rule for: `python -m bench.wild --jobs 200`.

Every job is composed from a seed, runs under a real `holdfast run`, and is judged by what was
told of it. `--seeds A..B` repeats jobs, and with `--results FILE` goes on where it was left.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from bench.output.envs import lack_of
from bench.wild.composing import Job, compose
from bench.wild.grammar import PROGRAMS
from bench.wild.judging import Row
from bench.wild.running import fresh_seeds, keep_or_drop, run_job
from bench.wild.table import show


def main() -> int:
    asked = _asked()
    chosen = [compose(seed) for seed in asked.seeds or fresh_seeds(asked.jobs)]
    chosen = [job for job in chosen if asked.only in job.line]
    if asked.list:
        print("\n".join(job.line for job in chosen))
        return 0
    known = _known(asked.results)
    rows = [known[job.line] for job in chosen if job.line in known]
    left = [job for job in chosen if job.line not in known]
    print(f"{len(left)} jobs to run: seeds {' '.join(str(job.seed) for job in left)}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        _run_all(left, rows, asked)
    return 0 if show(rows) else 1


def _run_all(jobs: Sequence[Job], rows: list[Row], asked: argparse.Namespace) -> None:
    """Those that load the machine run last and alone: they would load the others, too."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-wild-"))
    keep = asked.keep or folder.with_name(folder.name + "-wrong")
    writing = threading.Lock()

    def one(job: Job) -> None:
        if lack := lack_of(PROGRAMS[job.program].env):
            print(f"{job.line}\n    not tried: {lack}", flush=True)
            return
        row = run_job(job, folder)
        keep_or_drop(row, folder, keep, keep_all=asked.keep is not None)
        with writing:
            rows.append(row)
            _append(asked.results, row)
            _progress(row, len(rows), len(jobs))

    calm = [job for job in jobs if job.load == "none"]
    for at_once, part in (
        (asked.at_once, calm),
        (1, [job for job in jobs if job.load != "none"]),
    ):
        with ThreadPoolExecutor(at_once) as pool:
            try:
                list(pool.map(one, part))
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise
    if keep.exists():
        print(f"run directories are in {keep}")


def _progress(row: Row, number: int, of: int) -> None:
    mark = "ok   " if row.is_fine else "WRONG"
    said = f"first {row.first}, report {row.reported}" if row.first else f"verdict {row.verdict}"
    seconds = "" if row.notice_s is None else f", {row.notice_s:.1f} s"
    print(f"{mark} {number}/{of} {row.line}\n      {said}{seconds} ({row.took_s:.0f} s)")
    crashed = f"{row.crashed} crashed by itself" if row.crashed else ""
    for why in filter(None, (row.broken, row.silent, crashed, *row.wrong, *row.warned)):
        print(f"      {why}")
    sys.stdout.flush()


def _known(results: Path | None) -> dict[str, Row]:
    """By its line: a seed that means another job by now is run again."""
    if not results or not results.exists():
        return {}
    rows = [Row(**json.loads(line)) for line in results.read_text().splitlines()]
    return {row.line: row for row in rows if not row.broken}


def _append(results: Path | None, row: Row) -> None:
    if results:
        with results.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("..")
    if last:
        return list(range(int(first), int(last) + 1))
    return [int(seed) for seed in text.split(",")]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=20, help="so many, of seeds never run before")
    parser.add_argument("--seeds", type=_seeds, help="A..B, or A,B,C: these again")
    parser.add_argument("--only", default="", metavar="TEXT", help="jobs whose line has it")
    parser.add_argument("--list", action="store_true", help="show the jobs, and run none")
    parser.add_argument("--at-once", type=int, default=1, metavar="K")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="every run directory")
    parser.add_argument("--results", type=Path, metavar="FILE", help="JSON lines, appended to")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
