"""The table of all that came of wild jobs, and whether the bars are met."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from bench.wild.judging import Row

FIRST_RIGHT, REPORT_RIGHT = 0.97, 0.99
MEDIAN_S, P95_S = 5.0, 12.0
CROWDED = 0.9


def show(rows: Sequence[Row]) -> bool:
    """Print it; whether every bar is met."""
    judged = [row for row in rows if not row.broken]
    faulty = [row for row in judged if row.first_right is not None]
    for title, key in _GROUPINGS:
        _groups(title, judged, key)
    calm = [row for row in faulty if row.load == "none"]
    starved = [row for row in faulty if row.load != "none"]
    healthy = [row for row in judged if row.first_right is None and not row.crashed]
    print(f"\n{len(rows)} jobs: {len(healthy)} healthy, {len(faulty)} faulty")
    met = [
        _bar("no wrong accusation", not _seeds(rows, lambda row: row.wrong), _wrong(rows)),
        _bar("no silent fault", not _seeds(rows, lambda row: row.silent), _silent(rows)),
        _share("right culprit in the first notice", [r.first_right for r in faulty], FIRST_RIGHT),
        _share("right culprit in the report", [r.report_right for r in faulty], REPORT_RIGHT),
        _seconds("notice", calm),
        _bar("every job could be judged", not _seeds(rows, lambda row: row.broken), _broken(rows)),
    ]
    crowded = [row for row in calm if row.busy > CROWDED]
    if crowded:
        median_s, p95_s = _spread(crowded)
        print(
            f"  of these, {len(crowded)} ran while the cores were more than {CROWDED:.0%} busy:"
            f" median {median_s:.1f} s, p95 {p95_s:.1f} s"
        )
    if starved:
        median_s, p95_s = _spread(starved)
        print(f"  on a starved machine: notice median {median_s:.1f} s, p95 {p95_s:.1f} s")
    missed = [row.seed for row in faulty if not row.first_right]
    print(f"  first notice wrong: {_numbers(missed)}")
    print(f"  report wrong: {_numbers(row.seed for row in faulty if not row.report_right)}")
    print(f"  another task crashed by itself: {_numbers(_seeds(rows, lambda row: row.crashed))}")
    print(f"  healthy but warned: {_numbers(_seeds(rows, lambda row: row.warned))}")
    return all(met)


_GROUPINGS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("way", lambda row: f"{row.kind}: {row.way}"),
    ("program", lambda row: row.program),
    ("load", lambda row: row.load),
)


def _groups(title: str, rows: Iterable[Row], key: Callable[[Row], str]) -> None:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    head = f"{'jobs':>5}{'first':>7}{'report':>8}{'median s':>10}{'wrong':>7}{'silent':>8}"
    print(f"\n{title:52}{head}")
    for name, ones in sorted(groups.items()):
        faulty = [row for row in ones if row.first_right is not None]
        first = sum(bool(row.first_right) for row in faulty)
        right = sum(bool(row.report_right) for row in faulty)
        seconds = [row.notice_s for row in faulty if row.notice_s is not None]
        median = f"{statistics.median(seconds):.1f}" if seconds else ""
        wrong = sum(bool(row.wrong) for row in ones)
        silent = sum(bool(row.silent) for row in ones)
        print(
            f"{name:52}{len(ones):5}{first if faulty else '':>7}{right if faulty else '':>8}"
            f"{median:>10}{wrong or '':>7}{silent or '':>8}"
        )


def _bar(name: str, is_met: bool, why: str) -> bool:  # noqa: FBT001 - it is what the bar says
    print(f"{'ok    ' if is_met else 'MISSED'} {name}{'' if is_met else ': ' + why}")
    return is_met


def _share(name: str, right: Sequence[bool | None], least: float) -> bool:
    share = sum(map(bool, right)) / len(right) if right else 1.0
    named = f"{name}: {100 * share:.1f} % of {len(right)}"
    return _bar(named, share >= least, f"at least {100 * least:.0f} %")


def _seconds(name: str, rows: Sequence[Row]) -> bool:
    median_s, p95_s = _spread(rows)
    named = f"{name}: median {median_s:.1f} s, p95 {p95_s:.1f} s"
    is_met = median_s <= MEDIAN_S and p95_s <= P95_S
    return _bar(named, is_met, f"at most {MEDIAN_S:.0f} s and {P95_S:.0f} s")


def _spread(rows: Iterable[Row]) -> tuple[float, float]:
    """Median and 95th percentile; what was never told is in neither: it is silent."""
    seconds = sorted(row.notice_s for row in rows if row.notice_s is not None)
    if not seconds:
        return 0.0, 0.0
    return statistics.median(seconds), seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]


def _wrong(rows: Iterable[Row]) -> str:
    return "".join(f"\n    {row.seed}: {'; '.join(row.wrong)}" for row in rows if row.wrong)


def _silent(rows: Iterable[Row]) -> str:
    return "".join(f"\n    {row.seed}: {row.silent} ({row.line})" for row in rows if row.silent)


def _broken(rows: Iterable[Row]) -> str:
    return "".join(f"\n    {row.seed}: {row.broken} ({row.line})" for row in rows if row.broken)


def _seeds(rows: Iterable[Row], holds: Callable[[Row], object]) -> list[int]:
    return [row.seed for row in rows if holds(row)]


def _numbers(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds)) or "none"
