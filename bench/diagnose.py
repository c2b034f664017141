"""Measures `holdfast diagnose` on logs of any size: `python -m bench.diagnose`.

The logs are made here: lines as TensorFlow, absl, logging and Keras write them, one in a thousand
tells something. Beside the whole command stand grep and ripgrep with the same words and patterns,
and, on a slice, a loop with Python's `re` and drain3. Ratios count, not absolute numbers: every
round measures each way once, and the median is shown.
"""

import argparse
import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from bench.made_logs import make_log

from holdfast.diagnose import words_to_hear
from holdfast.logs.literals import LINE_START, words_of

MB = 1_000_000
SIZES_MB = (10, 100, 1_000)
FULL_SIZES_MB = (*SIZES_MB, 10_000)
SLICE_MB = 1  # for what would take minutes
LOOK_EVERY_S = 0.02
RSS_MAX_MB = 300
ONE_CORE, TWO_CORES = "0", "0,1"
_NEEDLESS_ESCAPE = re.compile(r"\\([^\w\s.^$*+?()\[\]{}|\\-])")


@dataclass(frozen=True, slots=True)
class Took:
    seconds: float
    rss_bytes: int  # of all its processes together, at most

    def rate(self, size_bytes: int) -> float:
        return size_bytes / MB / self.seconds


@dataclass(frozen=True, slots=True)
class Way:
    """One way to look for what a log tells."""

    name: str
    command: Callable[[Path], list[str]]
    slice_only: bool = False
    missing: str = ""  # why it cannot be measured here


def main() -> int:
    asked = _asked()
    sizes = asked.mb or (FULL_SIZES_MB if asked.full else SIZES_MB)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=asked.dir))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    try:
        held = _growth(folder, sizes, asked.rounds)
        held &= _beside(folder, asked.compare_mb, asked.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if held else 1


def _growth(folder: Path, sizes_mb: Sequence[int], rounds: int) -> bool:
    """The whole command, on one core and on two, over logs of growing size."""
    print("\nholdfast diagnose, start and report included")
    print(f"{'log':>10} {'one core':>22} {'two cores':>22} {'memory':>10}")
    held = True
    for size_mb in sizes_mb:
        log = folder / "grown.log"
        make_log(log, size_bytes=size_mb * MB)
        size = log.stat().st_size
        one = _median([_timed(_ours(log, jobs=1), cores=ONE_CORE) for _ in range(rounds)])
        two = _median([_timed(_ours(log, jobs=2), cores=TWO_CORES) for _ in range(rounds)])
        rss_mb = max(one.rss_bytes, two.rss_bytes) / MB
        held &= rss_mb <= RSS_MAX_MB
        print(
            f"{size_mb:>7} MB {one.seconds:>9.2f} s {one.rate(size):>5.0f} MB/s"
            f" {two.seconds:>9.2f} s {two.rate(size):>5.0f} MB/s {rss_mb:>7.0f} MB",
            flush=True,
        )
        log.unlink()
    return held


def _beside(folder: Path, size_mb: int, rounds: int) -> bool:
    """Every way on one core, on the same log."""
    log, piece = folder / "whole.log", folder / "piece.log"
    lines = make_log(log, size_bytes=size_mb * MB)
    make_log(piece, size_bytes=SLICE_MB * MB)
    print(f"\non one core, {size_mb} MB, {lines:,} lines; median of {rounds}")
    took: dict[str, list[Took]] = {}
    ways = _ways(folder)
    for number in range(rounds):
        for way in ways[:: -1 if number % 2 else 1]:
            if not way.missing:
                target = piece if way.slice_only else log
                took.setdefault(way.name, []).append(_timed(way.command(target), cores=ONE_CORE))
    rates = {}
    for way in ways:
        if way.missing:
            print(f"{way.name:<34} not here: {way.missing}")
            continue
        size = (piece if way.slice_only else log).stat().st_size
        best = _median(took[way.name])
        rates[way.name] = best.rate(size)
        note = f"  (on {SLICE_MB} MB)" if way.slice_only else ""
        print(f"{way.name:<34} {rates[way.name]:>7.0f} MB/s {best.rss_bytes / MB:>6.0f} MB{note}")
    ours, theirs = rates[ways[0].name], rates.get(ways[1].name)
    if theirs is None:
        return True
    print(f"holdfast is {ours / theirs:.1f} times as fast as ripgrep with the same patterns")
    return ours >= theirs


def _ways(folder: Path) -> list[Way]:
    patterns, words = folder / "patterns", folder / "words"
    asked = (_for_ripgrep(one.unnamed) for one in words_to_hear())
    patterns.write_text("".join(f"{one}\n" for one in asked if r"\n" not in one))
    found = (word.text for one in words_to_hear() for word in words_of(one.text))
    plain = {text for text in found if not text.startswith(LINE_START)}
    words.write_text("".join(f"{word}\n" for word in sorted(plain)))
    limits = ("--regex-size-limit", "1G", "--dfa-size-limit", "1G")
    no_rg = "" if shutil.which("rg") else "apt-get install ripgrep"
    no_drain = "" if importlib.util.find_spec("drain3") else "pip install drain3"
    slow = [sys.executable, "-P", str(Path(__file__).with_name("slow_scan.py"))]
    return [
        Way("holdfast diagnose", lambda log: _ours(log, jobs=1)),
        Way(
            "ripgrep -j1, the same patterns",
            lambda log: ["rg", "-j1", "-a", "-c", *limits, "-f", str(patterns), str(log)],
            missing=no_rg,
        ),
        Way(
            "ripgrep -j1, words only",
            lambda log: ["rg", "-j1", "-a", "-c", "-F", "-f", str(words), str(log)],
            missing=no_rg,
        ),
        Way(
            "grep -F, words only",
            lambda log: ["env", "LC_ALL=C", "grep", "-a", "-c", "-F", "-f", str(words), str(log)],
        ),
        Way(
            "a loop with Python's re",
            lambda log: [*slow, "re", str(patterns), str(log)],
            slice_only=True,
        ),
        Way(
            "drain3",
            lambda log: [*slow, "drain3", str(patterns), str(log)],
            slice_only=True,
            missing=no_drain,
        ),
    ]


def _for_ripgrep(pattern: str) -> str:
    r"""A group by itself, as flags reach no further; Rust takes fewer escapes, and no \n."""
    plain = _NEEDLESS_ESCAPE.sub(r"\1", pattern.replace(r"[^\n]", "."))
    return f"(?i:{plain[4:]})" if plain.startswith("(?i)") else f"(?:{plain})"


def _ours(log: Path, *, jobs: int) -> list[str]:
    return [sys.executable, "-m", "holdfast", "diagnose", "--jobs", str(jobs), str(log)]


def _timed(command: list[str], *, cores: str) -> Took:
    """How long a command took on some cores, and how much memory its processes had."""
    pinned = ["taskset", "-c", cores, *command]
    began_s = time.monotonic()
    # A pipe, as grep stops at the first match where its output goes to /dev/null.
    process = psutil.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    rss_bytes = 0
    while process.poll() is None:
        rss_bytes = max(rss_bytes, _rss_bytes(process))
        time.sleep(LOOK_EVERY_S)
    seconds = time.monotonic() - began_s
    _, errors = process.communicate()
    if process.returncode not in (0, 1) or errors:
        sys.exit(f"{command[0]} failed: {errors.decode(errors='replace')[-500:]}")
    return Took(seconds, rss_bytes)


def _rss_bytes(process: psutil.Popen) -> int:
    total = 0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:  # it has just ended
        pass
    return total


def _median(took: list[Took]) -> Took:
    middle = statistics.median_low(one.seconds for one in took)
    return Took(middle, max(one.rss_bytes for one in took))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnose", description=__doc__)
    parser.add_argument("--mb", type=int, nargs="+", help=f"sizes to grow over  [{SIZES_MB}]")
    parser.add_argument("--full", action="store_true", help="up to 10 GB")
    parser.add_argument("--compare-mb", type=int, default=1_000, help="size to compare on")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", help="where the files go  [default: the temporary directory]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
