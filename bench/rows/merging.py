"""Measures merges and indexes: `python -m bench.rows.merging`; a missed bar is exit 1.

A merge of 64 shards of 64 MB is measured against `cp` of the same files and h5repack of the index,
each to the disk, with the last byte synced. Then: how the time grows with the size; a merge that
is killed ten times and goes on; and how long an index of 1 to 10,000 segments takes to open.
"""

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.rows.running import ROOT, end_all, ended, own, terminable
from bench.rows.shards import SMALL_ROWS, add_segments, make_shards

CP_MIN = 0.7
OPEN_S_MAX = 1.0
KILLS = 10
MADE = "all.h5"
RUN_S_MAX = 1800
MERGED = """
import sys, time
import h5py
from holdfast.rows.merging import merge
start = time.perf_counter()
merge(*sys.argv[1:])
print(time.perf_counter() - start)
"""
OPENED = """
import sys, time
import h5py
start = time.perf_counter()
with h5py.File(sys.argv[1], "r") as file:
    shape = file["x"].shape
    last = file["x"][-1]
print(time.perf_counter() - start, shape[0])
"""


def main() -> int:
    terminable()
    asked = _asked()
    missed = 0
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-merging-", dir=asked.dir) as folder:
            if "merge" in asked.parts:
                missed += judge_merge(Path(folder), asked)
            if "index" in asked.parts:
                missed += judge_index(Path(folder) / "many", asked.segments)
    finally:
        end_all()
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rows.merging", description=__doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=("merge", "index"), default=["merge", "index"]
    )
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--mb", type=int, default=64, help="of each shard")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 10, 100, 1000, 10_000])
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--quick", action="store_true", help="16 shards of 8 MB, 1000 segments")
    asked = parser.parse_args()
    if asked.quick:
        asked.shards, asked.mb, asked.segments = 16, 8, [1, 10, 100, 1000]
    return asked


def judge_merge(folder: Path, asked: argparse.Namespace) -> int:
    """How many bars it missed."""
    job, out = folder / "job", folder / "out"
    out.mkdir()
    total = make_shards(job, asked.shards, asked.mb * 1_000_000)
    print(f"{asked.shards} shards of {asked.mb} MB, {total / 1e9:.2f} GB", flush=True)
    took: dict[str, list[float]] = {}
    for _ in range(asked.rounds):
        for name, way in ways(job, out).items():
            took.setdefault(name, []).append(timed(way, out))
    for name, each_s in took.items():
        best = total / min(each_s) / 1e6
        print(f"      {name:12}{min(each_s):8.2f} s{best:8.0f} MB/s", flush=True)
    if shutil.which("h5repack") is None:
        print("      h5repack is absent: it comes with hdf5-tools")
    ratio = median(cp_s / ours_s for ours_s, cp_s in zip(took["merge"], took["cp"], strict=True))
    held = ratio >= CP_MIN
    print(f"{_word(held=held)}  merge: {ratio:.2f} x the speed of cp (bar: {CP_MIN})", flush=True)
    missed = (not held) + judge_interrupted(job, out, asked.shards)
    shutil.rmtree(job)
    show_growth(folder, asked)
    return missed


def ways(job: Path, out: Path) -> dict[str, Callable[[], float | None]]:
    """What is timed, or times itself; each leaves nothing but its output."""
    found: dict[str, Callable[[], float | None]] = {
        "merge": lambda: merged_s(job, out / MADE),
        "cp": lambda: copied(job, out / "copy"),
    }
    if shutil.which("h5repack"):
        index_process(job).wait(RUN_S_MAX)
        index = job / "rows/index.h5"
        found["h5repack"] = lambda: checked(["h5repack", "-l", "x:CONTI", index, out / MADE])
    return found


def timed(way: Callable[[], float | None], out: Path) -> float:
    """Until the last byte is on the disk; the start of an interpreter does not count."""
    start = time.perf_counter()
    own_s = way()
    took_s = time.perf_counter() - start if own_s is None else own_s
    start = time.perf_counter()
    for path in out.rglob("*"):
        if path.is_file():
            synced(path)
    took_s += time.perf_counter() - start
    shutil.rmtree(out)
    out.mkdir()
    return took_s


def copied(job: Path, target: Path) -> None:
    target.mkdir()
    files = sorted((job / "rows").glob("worker-*/*.h5"))
    for number, path in enumerate(files):
        checked(["cp", "--reflink=never", path, target / str(number)])


def synced(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def checked(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, timeout=RUN_S_MAX, stdout=subprocess.DEVNULL)


def merged_s(job: Path, target: Path) -> float:
    """What the merge itself took, in a process of its own."""
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    command = [sys.executable, "-c", MERGED, str(job), str(target)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environ
    )
    return float(done.stdout)


def merge_process(job: Path, target: Path) -> "subprocess.Popen[bytes]":
    return _python("from holdfast import rows; import sys; rows.merge(*sys.argv[1:])", job, target)


def index_process(job: Path) -> "subprocess.Popen[bytes]":
    return _python("from holdfast import rows; import sys; rows.index(*sys.argv[1:])", job)


def _python(program: str, *asked: Path) -> "subprocess.Popen[bytes]":
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    return own(subprocess.Popen([sys.executable, "-c", program, *asked], cwd=ROOT, env=environ))


def judge_interrupted(job: Path, out: Path, shards: int) -> int:
    """Killed ten times at random and called again: the same bytes as without."""
    chance = random.Random(shards)
    start = time.perf_counter()
    merge_process(job, out / "whole.h5").wait(RUN_S_MAX)
    whole_s = time.perf_counter() - start
    kills = 0
    while kills < KILLS:
        merging = merge_process(job, out / MADE)
        try:
            merging.wait(0.1 + chance.random() * whole_s * 0.6)
        except subprocess.TimeoutExpired:
            ended(merging)
            kills += 1
        if (out / MADE).exists():
            break
    if not (out / MADE).exists():
        merge_process(job, out / MADE).wait(RUN_S_MAX)
    same = digest(out / MADE) == digest(out / "whole.h5")
    told = "the same bytes" if same else "other bytes"
    if shutil.which("h5diff"):
        done = subprocess.run(["h5diff", out / MADE, out / "whole.h5"], check=False)
        same = done.returncode == 0
        told += f", h5diff says {'nothing' if same else 'they differ'}"
    print(f"{_word(held=same)}  merge killed {kills} times and called again: {told}", flush=True)
    shutil.rmtree(out)
    out.mkdir()
    return 0 if same else 1


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def show_growth(folder: Path, asked: argparse.Namespace) -> None:
    """A quarter, a half and the whole: seconds for each GB should stay as they are."""
    for shards in (asked.shards // 4, asked.shards // 2, asked.shards):
        job = folder / f"job-{shards}"
        total = make_shards(job, max(1, shards), asked.mb * 1_000_000)
        out = folder / "grown"
        out.mkdir(exist_ok=True)
        took_s = timed(ways(job, out)["merge"], out)
        print(f"      {total / 1e9:6.2f} GB merged in {took_s:6.2f} s, {took_s * 1e9 / total:.2f}"
              " s for each GB", flush=True)  # fmt: skip
        shutil.rmtree(job)


def judge_index(job: Path, sizes: list[int]) -> int:
    """An index is opened by plain h5py in a new process, and its last row is read."""
    opened_s = float("inf")
    there = 0
    for segments in sorted(sizes):
        add_segments(job, segments - there)
        there = segments
        start = time.perf_counter()
        index_process(job).wait(RUN_S_MAX)
        made_s = time.perf_counter() - start
        command = [sys.executable, "-c", OPENED, str(job / "rows/index.h5")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        taken_s, rows = done.stdout.split()
        opened_s = float(taken_s)
        if int(rows) != segments * SMALL_ROWS:
            print(f"FAIL  the index of {segments} segments has {rows} rows")
            return 1
        print(f"      {segments:6} segments: index made in {made_s:6.2f} s with start and imports,"
              f" opened in {1000 * opened_s:7.1f} ms", flush=True)  # fmt: skip
    held = opened_s <= OPEN_S_MAX
    print(f"{_word(held=held)}  an index of {there} segments opens in {opened_s:.2f} s"
          f" (bar: {OPEN_S_MAX:g})", flush=True)  # fmt: skip
    return 0 if held else 1


def _word(*, held: bool) -> str:
    return "PASS" if held else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
