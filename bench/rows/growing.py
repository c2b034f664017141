"""Does a writer's memory stay flat? It appends gigabytes while what it sealed is taken away."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.rows.running import ROOT, ended, own
from bench.rows.ways import COLUMNS, ROW_BYTES

ROWS = 1024
GROWTH_BYTES_MAX = 8_000_000
DISK_BYTES_MAX = 12_000_000_000
SWEEP_S = 0.2
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Grown:
    """Memory of the writing process at a tenth of the way and at its end."""

    early_bytes: int
    late_bytes: int
    disk_bytes_most: int

    @property
    def growth_bytes(self) -> int:
        return self.late_bytes - self.early_bytes


def measure_growth(total_bytes: int, place: Path) -> Grown:
    """Appends so much in a process of its own; sealed segments are deleted all the while."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-rows-", dir=place))
    command = [sys.executable, "-m", "bench.rows.growing", str(folder), str(total_bytes)]
    process = own(
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        )
    )
    over = threading.Event()
    most = [0]
    sweeper = threading.Thread(target=_sweep, args=(folder, over, most))
    sweeper.start()
    try:
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"the writer ended with {process.returncode}")
        return Grown(**json.loads(out), disk_bytes_most=most[0])
    finally:
        over.set()
        sweeper.join()
        ended(process)
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(folder: Path, over: threading.Event, most: list[int]) -> None:
    """Takes segments away once they are there; logs are the writer's and the sealer's."""
    while not over.wait(SWEEP_S):
        sizes = 0
        for path in folder.rglob("*"):
            with suppress(FileNotFoundError):
                sizes += path.stat().st_blocks * 512
                if path.suffix == ".h5" and not path.name.startswith("."):
                    path.unlink()
        most[0] = max(most[0], sizes)


def main() -> None:
    from holdfast import rows  # noqa: PLC0415 - the bench itself measures without it, too

    folder, total_bytes = Path(sys.argv[1]), int(sys.argv[2])
    batch = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    appends = max(10, total_bytes // (ROWS * ROW_BYTES))
    early_bytes = 0
    with rows.open(folder, task="worker:0") as writer:
        for number in range(appends):
            writer.append("x", batch)
            if number == appends // 10:
                early_bytes = _rss_bytes()
            if number % 1000 == 0:
                _wait_for_room(folder)
        late_bytes = _rss_bytes()
    print(json.dumps({"early_bytes": early_bytes, "late_bytes": late_bytes}))


def _wait_for_room(folder: Path) -> None:
    """A sealer of lowest priority may be far behind: the disk is not ours to fill."""
    while sum(_blocks(path) for path in folder.rglob("*")) * 512 > DISK_BYTES_MAX // 2:
        threading.Event().wait(SWEEP_S)


def _blocks(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_blocks
    return 0


def _rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


if __name__ == "__main__":
    main()
