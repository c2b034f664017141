"""Histories of one folder under the guard: `python -m bench.rows.guard_histories --histories 1000`.

From a seed, two to four processes are given steps: open in any mode, write, flush, close, forget,
read, fork, threads, rename, remove, link, die, end with files open. They run at once, through
`guard.install` and through `holdfast run --guard-hdf5`, with HDF5's own locks on and off. Their
notes prove whether two had one file open for writing at once, and what must be in the files.
First, a few of the same histories without the guard: they must show what the bench looks for.
Exit 1 if a file was damaged, a second writer got through, or nothing was found without the guard.
"""

import argparse
import contextlib
import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.rows.history_truth import Truth, notes_of, truth_of
from bench.rows.running import ROOT, end_all, own, terminable

ACTORS = 4
NAMES = ("a.h5", "b.h5", "c.h5")
MODES = ("a", "a", "a", "r+", "r+", "w", "x")
DOORS = ("guard.install", "holdfast run --guard-hdf5")
LOCKING = ("FALSE", "TRUE")  # HDF5_USE_FILE_LOCKING
BARE = "no guard"
BARE_SHARE = 20  # of so many histories one is run without the guard before
START_S_MAX = 180.0
HISTORY_S_MAX = 120.0
BEGIN_S = 0.02  # until all have heard what to do
Step = list[Any]


def main() -> int:
    terminable()
    asked = _asked()
    seed = secrets.randbelow(1 << 31) if asked.seed is None else asked.seed
    print(f"seed {seed}: {asked.histories} histories", flush=True)
    began_s = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-histories-", dir=asked.dir) as folder:
            place = Path(folder)
            few = range(-(-asked.histories // BARE_SHARE))
            bare = run_door(BARE, "FALSE", few, seed=seed, place=place)
            groups = [(door, locking) for door in DOORS for locking in LOCKING]
            with ThreadPoolExecutor(asked.at_once) as pool:
                running = [
                    pool.submit(
                        run_door,
                        *(door, locking, range(at, asked.histories, len(groups))),
                        seed=seed,
                        place=place,
                        keep=asked.keep,
                    )
                    for at, (door, locking) in enumerate(groups)
                ]
                guarded = [one.result() for one in running]
    finally:
        end_all()
    missed = (not bare.wrong) + sum(bool(count.wrong) for count in guarded)
    print(
        f"{sum(one.histories for one in guarded)} guarded histories in"
        f" {time.monotonic() - began_s:.0f} s: {sum(one.damaged for one in guarded)} files damaged,"
        f" {sum(one.second_writers for one in guarded)} second writers;"
        f" {missed} bars missed (seed {seed})"
    )
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.rows.guard_histories", description=__doc__
    )
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, help="as a run before printed it")
    parser.add_argument("--at-once", type=int, default=2, help="doors")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--keep", type=Path, help="where the folders of bad histories go")
    return parser.parse_args()


@dataclass
class Count:
    """Of all histories through one door."""

    door: str
    is_bare: bool
    histories: int = 0
    opens: int = 0
    refused: int = 0
    second_writers: int = 0
    damaged: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, number: int, truth: Truth, damaged: list[str], ends: list[str]) -> None:
        self.histories += 1
        self.opens += truth.opens
        self.refused += truth.refused
        self.second_writers += len(truth.second_writers)
        self.damaged += len(damaged)
        self.wrong += [
            f"history {number}: {one}" for one in (*truth.second_writers, *damaged, *ends)
        ]

    def __str__(self) -> str:
        word = "FAIL" if bool(self.wrong) is not self.is_bare else "PASS"
        return (
            f"{word}  {self.door}: {self.histories} histories, {self.opens} opens for writing,"
            f" {self.refused} refused, {self.second_writers} second writers,"
            f" {self.damaged} files damaged"
        )


def run_door(
    door: str, locking: str, numbers: range, *, seed: int, place: Path, keep: Path | None = None
) -> Count:
    """These histories behind one door."""
    locks = "" if door == BARE else f", HDF5's locks {'on' if locking == 'TRUE' else 'off'}"
    count = Count(door + locks, is_bare=door == BARE)
    with actors(door, locking, place) as lines:
        for number in numbers:
            folder = place / f"history-{number}"
            wrong_before = len(count.wrong)
            run_history(lines, folder, number, seed, count)
            if keep is not None and len(count.wrong) > wrong_before:
                shutil.copytree(folder, keep / folder.name, dirs_exist_ok=True)
            shutil.rmtree(folder)
    print(count, flush=True)
    for wrong in [] if count.is_bare else count.wrong[:10]:
        print("      " + wrong, flush=True)
    return count


def run_history(lines: list["Line"], folder: Path, number: int, seed: int, count: Count) -> None:
    steps = made_history(random.Random(f"{seed}.{number}"))
    folder.mkdir()
    first = {}
    for name in NAMES[:2]:
        lines[0].tell(folder=str(folder), name="first", from_s=0.0, steps=first_steps(name))
        assert lines[0].hear()["status"] == 0
        first[(folder / name).stat().st_ino] = {"first.1"}
    (folder / "first.notes").unlink()
    from_s = time.monotonic() + BEGIN_S
    playing = list(zip(lines, steps, strict=False))
    for at, (line, own_steps) in enumerate(playing):
        line.tell(folder=str(folder), name=f"p{at}", from_s=from_s, steps=own_steps)
    statuses = {f"p{at}": line.hear()["status"] for at, (line, _) in enumerate(playing)}
    whole = {name for name, status in statuses.items() if not status}
    truth = truth_of(notes_of(folder), first=first, whole=whole)
    ends = [f"{name} ended with {one}" for name, one in statuses.items() if one not in (0, 9)]
    expected = truth.expected(folder)
    lines[0].tell(folder=str(folder), expected=expected)
    said = lines[0].hear()
    damaged = json.loads(said["said"]) if not said["status"] else ["reading it ends the reader"]
    count.add(number, truth, damaged, ends)


def first_steps(name: str) -> list[Step]:
    return [["open", "s", name, "w"], ["write", "s"], ["close", "s"]]


def made_history(chance: random.Random) -> list[list[Step]]:
    """The steps of each process; most want the same file."""
    weights = chance.choice([(8, 1, 1), (3, 3, 1), (1, 1, 1)])
    moves = chance.random() < 0.4  # whether files are renamed, removed and linked as well

    def name() -> str:
        return chance.choices(NAMES, weights)[0]

    def step() -> list[Step]:
        slot = chance.choice("st")
        kind = chance.random()
        if kind < 0.60:  # the careless program: in, write, out
            steps: list[Step] = [["open", slot, name(), chance.choice(MODES)]]
            steps += [["write", slot]] * chance.randint(0, 3)
            steps += chance.choice([[], [["flush", slot]], [["pause", chance.uniform(0, 0.004)]]])
            return [*steps, [chance.choice(["close", "close", "close", "forget"]), slot]]
        if kind < 0.72:
            return [["open", slot, name(), chance.choice(MODES)], ["write", slot], ["flush", slot]]
        if moves and kind < 0.80:
            names = chance.sample(NAMES, 2)
            return [chance.choice([["rename", *names], ["link", *names], ["unlink", names[0]]])]
        others: list[Step] = [["read", name()], ["fork"], ["threads", name()], ["close", slot]]
        return [chance.choice([*others, ["write", slot], ["pause", chance.uniform(0, 0.004)]])]

    def process() -> list[Step]:
        steps = [one for _ in range(chance.randint(3, 10)) for one in step()]
        last = chance.random()
        if last < 0.2:
            flush = [["flush", slot] for slot in "st"] if chance.random() < 0.7 else []
            return [*steps, *flush, ["die"]]
        if last < 0.35:
            return [*steps, ["die_opening", name(), chance.uniform(0, 0.03)]]
        return steps

    return [process() for _ in range(chance.randint(2, ACTORS))]


class Line:
    """To one server of actors."""

    def __init__(self, line: socket.socket) -> None:
        line.settimeout(HISTORY_S_MAX)
        self._line = line
        self._file = line.makefile("rb")

    def tell(self, **asked: Any) -> None:
        self._line.sendall(json.dumps(asked).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        said = self._file.readline()
        if not said:
            raise SystemExit("a server of actors has ended")
        return dict(json.loads(said))

    def close(self) -> None:
        self._file.close()
        self._line.close()


@contextlib.contextmanager
def actors(door: str, locking: str, place: Path) -> Iterator[list[Line]]:
    """Servers behind one door, connected; they end with their connections."""
    at = place / f"actors-{secrets.token_hex(4)}"
    env = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
        "HDF5_USE_FILE_LOCKING": locking,
        "OPENBLAS_NUM_THREADS": "1",
    }
    server = [sys.executable, "-m", "bench.rows.history_actor", str(at)]
    if door == DOORS[1]:
        options = ["--workers", str(ACTORS), "--guard-hdf5", "--no-check", "--run-dir", f"{at}.run"]
        commands = [[sys.executable, "-m", "holdfast", "run", *options, "--", *server]]
    elif door == DOORS[0]:
        commands = [[*server, f"worker:{number}"] for number in range(ACTORS)]
    else:
        commands = [server] * ACTORS
    with socket.socket(socket.AF_UNIX) as listening, Path(f"{at}.out").open("wb") as out:
        listening.bind(str(at))
        listening.listen(ACTORS)
        listening.settimeout(START_S_MAX)
        started = [
            own(subprocess.Popen(command, env=env, cwd=ROOT, stdout=out, stderr=out))
            for command in commands
        ]
        lines = [Line(listening.accept()[0]) for _ in range(ACTORS)]
        yield lines
        for line in lines:
            line.close()
        for process in started:
            process.wait(HISTORY_S_MAX)


if __name__ == "__main__":
    sys.exit(main())
