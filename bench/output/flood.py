"""The flooding child: numbered lines of 120 bytes, one write each, and its own account of it.

`python flood.py SIDE LINES SECONDS`: waits for the file SIDE/go, writes at most LINES lines to
standard error for at most SECONDS, and leaves its account in SIDE/N.json.
"""

import hashlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

LINE_BYTES = 120
BLOCK_LINES = 1024
_WAIT_S = 0.005


def parts(child: int) -> tuple[bytes, bytes]:
    """What stands before and behind a line's ten digits."""
    before = b"I0000 flood.cc:42] child %02d says line " % child
    return before, b" of a flood ".ljust(LINE_BYTES - len(before) - 11, b".") + b"\n"


def blocks(child: int, lines: int) -> Iterator[bytes]:
    """The same bytes that a child writes, in larger pieces."""
    before, behind = parts(child)
    for start in range(0, lines, BLOCK_LINES):
        numbers = range(start, min(start + BLOCK_LINES, lines))
        yield b"".join([b"%b%010d%b" % (before, number, behind) for number in numbers])


def digest(child: int, lines: int) -> str:
    """Of all that a child wrote."""
    whole = hashlib.sha256()
    for block in blocks(child, lines):
        whole.update(block)
    return whole.hexdigest()


def main() -> None:
    side, lines, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    child = _number()
    (side / f"{child}.ready").touch()
    while not (side / "go").exists():
        time.sleep(_WAIT_S)
    before_s = time.process_time()
    began_s = time.monotonic()
    written = _flood(child, lines, began_s + seconds)
    ended_s = time.monotonic()
    account = {
        "began_s": began_s,
        "ended_s": ended_s,
        "cpu_s": time.process_time() - before_s,
        "lines": written,
    }
    # The digest comes from the same formula after the flood: while it is timed, a child does
    # nothing but write. It is left to who checks, lest it take a core from other children.
    draft = side / f"{child}.draft"
    draft.write_text(json.dumps(account))
    draft.rename(side / f"{child}.json")


def _flood(child: int, lines: int, deadline_s: float) -> int:
    before, behind = parts(child)
    write = os.write
    for start in itertools.count(0, BLOCK_LINES):
        if start >= lines or time.monotonic() >= deadline_s:
            return min(start, lines)
        for number in range(start, min(start + BLOCK_LINES, lines)):
            write(2, b"%b%010d%b" % (before, number, behind))
    raise AssertionError


def _number() -> int:
    """Which of the children this is, as told by whoever started it."""
    if "TF_CONFIG" in os.environ:
        return int(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
    return int(os.environ.get("LOCAL_RANK", os.environ.get("FLOOD_CHILD", "0")))


if __name__ == "__main__":
    main()
