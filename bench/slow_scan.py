"""Looks for telling lines without a fast scanner: `slow_scan.py re|drain3 PATTERNS LOG`."""

import importlib
import re
import sys
from pathlib import Path


def main() -> None:
    way, patterns, log = sys.argv[1:]
    found = with_re(Path(patterns), Path(log)) if way == "re" else with_drain3(Path(log))
    print(found)


def with_re(patterns: Path, log: Path) -> int:
    """Line by line, all patterns as one."""
    union = re.compile(b"|".join(patterns.read_bytes().splitlines()))
    with log.open("rb") as lines:
        return sum(union.search(line) is not None for line in lines)


def with_drain3(log: Path) -> int:
    """Line by line into templates: how many there are."""
    drain3 = importlib.import_module("drain3")
    miner = drain3.TemplateMiner()
    with log.open(errors="replace") as lines:
        for line in lines:
            miner.add_log_message(line.rstrip("\n"))
    return len(miner.drain.clusters)


if __name__ == "__main__":
    main()
