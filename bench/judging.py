"""What benches that judge scenarios have in common: what is asked for, the table, the verdict."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol


class Judged(Protocol):
    """What came of a scenario."""

    @property
    def scenario(self) -> str: ...

    @property
    def complaint(self) -> str: ...  # empty: it is right

    @property
    def lacks(self) -> str: ...  # why it was not tried


def options(doc: str | None, *, has_quick: bool = True) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument(
        "--only", metavar="NAME[,NAME]", default="*", help="strikes, scenarios, or patterns of them"
    )
    if has_quick:
        parser.add_argument("--quick", action="store_true", help="those that the tests run, too")
    parser.add_argument("--list", action="store_true", help="say what there is, and do nothing")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="journals, as fixtures have them")
    return parser


def is_asked(
    name: str, strike: str, asked: argparse.Namespace, quick: Collection[str] | None = None
) -> bool:
    named = any(one == strike or fnmatch(name, one) for one in asked.only.split(","))
    return named and (quick is None or not asked.quick or name in quick)


class Table:
    """Where a bench puts its files, and what it prints."""

    def __init__(self, name: str, heads: Sequence[str], widths: Sequence[int]) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
        self._widths = widths
        self._began_s = time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix=f"holdfast-{name}-"))
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} cores, load {load:.1f}, files in {self.folder}", flush=True)
        self._print(*heads)

    def show(self, row: Judged, *cells: str) -> None:
        """One line: the scenario, what came of it, and whether it is right."""
        word = f"WRONG: {row.complaint}" if row.complaint else "right"
        self._print(row.scenario, *cells, f"not tried: {row.lacks}" if row.lacks else word)

    def conclude(self, rows: Sequence[Judged], *more: str) -> int:
        """The exit code. What was wrong can be looked at; the rest is removed."""
        tried = [row for row in rows if not row.lacks]
        wrong = [row for row in tried if row.complaint]
        words = [f"{len(tried) - len(wrong)} of {len(tried)} right", *more]
        words += [f"{len(rows) - len(tried)} not tried"] if len(rows) > len(tried) else []
        print(f"{', '.join(words)}, {(time.monotonic() - self._began_s) / 60:.0f} min")
        if wrong:
            print(f"wrong: {','.join(row.scenario for row in wrong)}; files in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        return 1 if wrong else 0

    def _print(self, *words: str) -> None:
        cells = [word.ljust(width) for word, width in zip(words, (*self._widths, 0), strict=True)]
        print(" ".join(cells).rstrip(), flush=True)
