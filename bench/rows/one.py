"""One worker that appends in one way until its time or its bytes are over: `python -m`.

It says "ready" when it could begin, begins when it reads a line, and prints what it did.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from bench.rows.running import touch
from bench.rows.ways import COLUMNS, OPENERS, ROW_BYTES, Batch

BATCHES_KEPT = 8


def main() -> None:
    way, folder, rows, seconds, bytes_max = sys.argv[1:]
    print(json.dumps(measured(way, Path(folder), int(rows), float(seconds), int(bytes_max))))


def measured(way: str, folder: Path, rows: int, seconds: float, bytes_max: int) -> dict[str, float]:
    """From the first append until the file is closed."""
    chance = np.random.default_rng(0)
    batches: list[Batch] = [
        chance.standard_normal((rows, COLUMNS), dtype=np.float32) for _ in range(BATCHES_KEPT)
    ]
    appends_max = max(1, bytes_max // (rows * ROW_BYTES))
    done = 0
    with OPENERS[way](folder, rows) as append:
        touch(folder, bytes_max)
        print("ready", flush=True)
        sys.stdin.readline()
        cpu_s = time.process_time()
        started_s = time.monotonic()
        until_s = started_s + seconds
        while done < appends_max and time.monotonic() < until_s:
            append(batches[done % BATCHES_KEPT])
            done += 1
        appended_s = time.monotonic()
    return {
        "appends": done,
        "started_s": started_s,
        "appended_s": appended_s,
        "closed_s": time.monotonic(),
        "cpu_s": time.process_time() - cpu_s,
    }


if __name__ == "__main__":
    main()
