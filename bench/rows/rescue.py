"""Is what `rescue` reports true? `python -m bench.rows.rescue`: 200 damaged files of many kinds.

Each is compared with its original, known to the last row: a row that is reported as good and has a
checksum must be as it was; what can be recovered must be; the damaged file must not change.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from bench.rows.damaging import Case, cases, digest

from holdfast.rows.rescuing import Reader, Rescued, rescue
from holdfast.rows.rescuing.report import DOUBTFUL
from holdfast.rows.rescuing.rows_file import NUMBERS

STEP_S = 5.0


@dataclass
class Score:
    """What was wrong, in words; and what is worth counting."""

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def judged(case: Case, reader: Reader, score: Score) -> None:
    """Rescue one, and compare."""
    before = digest(case.path)
    to = case.path.parent / "rescued.h5"
    try:
        found = rescue(case.path, to=to, reader=reader)
    except Exception as error:  # noqa: BLE001 - that is what is measured
        score.wrong.append(f"{case.name}: it crashed: {error!r}")
        return
    if digest(case.path) != before:
        score.wrong.append(f"{case.name}: the original was changed")
    if case.wanted_kind and found.kind != case.wanted_kind:
        score.wrong.append(f"{case.name}: called {found.kind}, is {case.wanted_kind}")
    score.counts[f"files {'whole' if found.is_whole else 'part' if found.to else 'nothing'}"] += 1
    if found.to is None:
        if case.must_have and any(case.must_have.values()):
            score.wrong.append(f"{case.name}: nothing was recovered")
        return
    with h5py.File(found.to, "r") as file:
        for name in case.rows:
            _dataset(case, found, file, name=name, score=score)


def _dataset(case: Case, found: Rescued, file: Any, *, name: str, score: Score) -> None:
    known = case.rows[name]
    told = next((one for one in found.datasets if one.name == name), None)
    score.counts["rows of originals"] += len(known)
    if told is None:
        score.counts["datasets not found"] += 1
        if case.must_have.get(name):
            score.wrong.append(f"{case.name}: {name} is not reported")
        elif not found.lost_objects and " v0" not in case.name:
            score.wrong.append(f"{case.name}: {name} is gone, and nothing is said")
        return
    good = _good_rows(told)
    if (
        sum(len(one) for one in good) - sum(last - first + 1 for first, last in told.unstored)
        > told.rows_recovered
    ):
        score.wrong.append(f"{case.name}: {name} counts wrong")
    at = {row for one in good for row in one}
    score.counts["rows reported good"] += len(at)
    missing = case.must_have.get(name, set()) - at
    if missing:
        score.wrong.append(f"{case.name}: {name}: {len(missing)} rows could be recovered")
    _compare(case, told, at, _rows_in(file, name, told), score=score)


def _compare(case: Case, told: Any, at: set[int], values: dict[int, Any], *, score: Score) -> None:
    known = case.rows[told.name]
    unstored = {row for first, last in told.unstored for row in range(first, last + 1)}
    wrong = [
        row
        for row in at - unstored
        if row >= len(known) or row not in values or not _same(values[row], known[row])
    ]
    if not wrong:
        return
    if told.state == DOUBTFUL or not told.checked_by or not told.description_checked:
        is_described = told.shape == known.shape and told.dtype == str(known.dtype)
        if told.checked_by and is_described:
            score.wrong.append(f"{case.name}: {told.name}: {len(wrong)} checked rows are wrong")
        score.counts["rows wrong, said to be unchecked"] += len(wrong)
        return
    score.wrong.append(f"{case.name}: {told.name}: {len(wrong)} rows reported good are wrong")


def _same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and bool(np.all(one == other))


def _good_rows(told: Any) -> list[range]:
    good, start = [], 0
    for loss in sorted(told.lost, key=lambda loss: loss.first):
        good.append(range(start, loss.first))
        start = max(start, loss.last + 1)
    good.append(range(start, told.rows))
    return [one for one in good if len(one)]


def _rows_in(file: Any, name: str, told: Any) -> dict[int, Any]:
    """By row number; of log directories the file says which they are."""
    try:
        values = file[name][:]
        numbers = file.get(f"{NUMBERS}/{name}")
        if numbers is None:
            return dict(enumerate(values))
        order = [row for first, count in numbers[:] for row in range(first, first + count)]
        return dict(zip(order, values, strict=True))
    except (OSError, KeyError, ValueError, MemoryError) as error:
        return {-1: repr(error)}


def measure(count: int, folder: Path, seed: int = 1) -> Score:
    score = Score()
    made = cases(folder, count, seed)
    with Reader(step_s=STEP_S) as reader:
        for case in made:
            judged(case, reader, score)
    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        score = measure(asked.count, Path(folder), asked.seed)
    for name, number in sorted(score.counts.items()):
        print(f"{number:>9,}  {name}")
    print(f"{asked.count} damaged files in {time.monotonic() - began:.0f} s")
    for line in score.wrong:
        print("WRONG", line)
    return 1 if score.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
