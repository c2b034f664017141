"""A careless program: its workers damage the file they share, and the guard stops them before."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.rows.running import ROOT, own
from bench.rows.stressed import CARELESS_BATCHES
from bench.rows.told import Origins, origins

WORKERS = 4
TRIES = 5
RUN_S_MAX = 120


@dataclass(frozen=True)
class Ran:
    """How the workers ended, and what is in their file."""

    stopped: list[str]  # what those said who did not come to their end
    whole: int  # workers all of whose batches are there
    wrong: str  # of those who came to their end


def judge_careless(place: Path) -> int:
    """Unguarded, the file is damaged and nobody is told; guarded, it is whole, and they are."""
    with tempfile.TemporaryDirectory(prefix="holdfast-careless-", dir=place) as folder:
        for attempt in range(TRIES):
            bare = run(Path(folder) / f"bare-{attempt}.h5", "bare")
            if bare.wrong:
                break
        print(
            f"{_word(held=bool(bare.wrong))}  {WORKERS} careless workers, no guard: "
            f"{bare.wrong or 'nothing was damaged'}; {len(bare.stopped)} were told"
        )
        guarded = run(Path(folder) / "guarded.h5", "guard")
        held = not guarded.wrong and guarded.whole == 1 and len(guarded.stopped) == WORKERS - 1
        print(
            f"{_word(held=held)}  the same with rows.guard.install(): {guarded.wrong or 'whole'};"
            f" {len(guarded.stopped)} were stopped: {(guarded.stopped or ['?'])[0]}",
            flush=True,
        )
    return (not bare.wrong) + (not held)


def run(path: Path, guard: str) -> Ran:
    """All begin to write together, once each has opened the file or was stopped.

    The file is there already, as after the run before: of a new one that is not yet flushed, all
    but the first would be told that it is truncated.
    """
    _prepare(path)
    workers = [
        own(
            subprocess.Popen(
                [sys.executable, "-m", "bench.rows.stressed", "careless", path, str(at), guard],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            )
        )
        for at in range(WORKERS)
    ]
    for worker in workers:
        if worker.stdout is not None:
            worker.stdout.readline()
    stopped = []
    for worker in workers:
        if worker.poll() is None and worker.stdin is not None:
            worker.stdin.write("\n")
            worker.stdin.flush()
    for worker in workers:
        _, why = worker.communicate(timeout=RUN_S_MAX)
        if worker.returncode:
            stopped.append((why.strip().splitlines() or ["?"])[-1])
    whole, damaged, why = _looked_at(path)
    gone = WORKERS - len(stopped) - whole - damaged
    wrong = why or (f"{damaged} datasets damaged, {gone} gone" if damaged or gone else "")
    return Ran(stopped, whole, wrong)


def _prepare(path: Path) -> None:
    """Not by this process: it must not hold the file."""
    code = "import h5py, sys; h5py.File(sys.argv[1], 'x').attrs['run'] = 1"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=RUN_S_MAX)


def _looked_at(path: Path) -> tuple[int, int, str]:
    """Read in a process of its own: damaged files have crashed the library."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.rows.careless", path],
        check=False,
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
    )
    if done.returncode:
        return (
            0,
            0,
            f"unreadable: {(done.stderr.strip().splitlines() or [str(done.returncode)])[-1]}",
        )
    whole, damaged = done.stdout.split()
    return int(whole), int(damaged), ""


def look(path: str) -> None:
    import h5py  # noqa: PLC0415

    whole = damaged = 0
    with h5py.File(path, "r", locking=False) as file:
        for at in range(WORKERS):
            name = f"worker{at}"
            if name in file:
                seen: Origins = origins("samples", file[name][()])
                batches = len(set(seen.batch.tolist()))
                is_whole = not seen.damaged and len(seen.batch) == 20 * CARELESS_BATCHES
                is_whole = is_whole and batches == CARELESS_BATCHES
                whole += is_whole
                damaged += not is_whole
    print(whole, damaged)


def _word(*, held: bool) -> str:
    return "PASS" if held else "FAIL"


if __name__ == "__main__":
    look(sys.argv[1])
