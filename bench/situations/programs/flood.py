"""Writes 300 MB of warnings, and says what it has written."""

import hashlib
import json
import sys
import time
from pathlib import Path

LINES = 3_000_000


def main() -> None:
    began_s = time.monotonic()
    whole = hashlib.sha256()
    for first in range(0, LINES, 1000):
        text = "".join(
            f"WARNING: line {number:09} of the loader: {'x' * 60} end of line\n"
            for number in range(first, first + 1000)
        ).encode()
        whole.update(text)
        sys.stderr.buffer.write(text)
    sys.stderr.flush()
    wrote = {"sha256": whole.hexdigest(), "seconds": time.monotonic() - began_s}
    Path("wrote.json").write_text(json.dumps(wrote))


if __name__ == "__main__":
    main()
