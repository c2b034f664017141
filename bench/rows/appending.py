"""Measures appends: every round runs each way once, so that a noisy machine touches all alike."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.output.envs import NotAvailableError, bin_of, last_line
from bench.rows.running import ROOT, ended, own
from bench.rows.ways import PEERS, PLAIN, ROW_BYTES, Way

RUN_S_MAX = 300


@dataclass(frozen=True)
class Place:
    """Where files are written."""

    name: str
    folder: Path


@dataclass(frozen=True)
class Case:
    """What is measured: so many rows a batch, so many workers at once."""

    place: Place
    rows: int
    workers: int


@dataclass(frozen=True)
class Speed:
    """What all workers of one run did together."""

    mb_per_s: float
    append_us: float
    cpu_us: float


@dataclass(frozen=True)
class Amount:
    """How long a worker appends, and how much at most."""

    seconds: float
    bytes_max: int


def python_of(way: Way) -> str:
    """The interpreter that has what this way needs."""
    return str(bin_of(way.env) / "python") if way.env else sys.executable


def absent(ways: tuple[Way, ...] = PEERS) -> dict[Way, str]:
    """The peers that cannot be measured here, and why."""
    found = {}
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="holdfast-rows-") as folder:
            try:
                measure(way, Case(Place("", Path(folder)), 1, 1), Amount(0.01, 4096))
            except NotAvailableError as error:
                found[way] = str(error)
    return found


def measure(way: Way, case: Case, amount: Amount) -> Speed:
    """One run: all workers begin together, each with a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-rows-", dir=case.place.folder))
    workers: list[subprocess.Popen[str]] = []
    try:
        for own_folder in (folder / str(at) for at in range(case.workers)):
            own_folder.mkdir()
            workers.append(_started(way, own_folder, case.rows, amount))
        return _together(case, [_answer(worker) for worker in _begun(workers)])
    finally:
        ended(*workers)
        shutil.rmtree(folder, ignore_errors=True)


def _started(way: Way, folder: Path, rows: int, amount: Amount) -> subprocess.Popen[str]:
    asked = [way.name, folder, rows, amount.seconds, amount.bytes_max]
    return own(
        subprocess.Popen(
            [python_of(way), "-m", "bench.rows.one", *map(str, asked)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        )
    )


def _begun(workers: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    for worker in workers:
        if worker.stdout is None or worker.stdout.readline().strip() != "ready":
            _, why = worker.communicate(timeout=RUN_S_MAX)
            raise NotAvailableError(last_line(why))
    for worker in workers:
        if worker.stdin is not None:
            worker.stdin.write("\n")
            worker.stdin.flush()
    return workers


def _answer(worker: subprocess.Popen[str]) -> dict[str, float]:
    out, why = worker.communicate(timeout=RUN_S_MAX)
    if worker.returncode:
        raise NotAvailableError(last_line(why))
    return dict(json.loads(out))


def _together(case: Case, answers: list[dict[str, float]]) -> Speed:
    appends = sum(answer["appends"] for answer in answers)
    took_s = max(answer["closed_s"] for answer in answers) - min(
        answer["started_s"] for answer in answers
    )
    busy_s = sum(answer["closed_s"] - answer["started_s"] for answer in answers)
    return Speed(
        appends * case.rows * ROW_BYTES / took_s / 1e6,
        1e6 * busy_s / appends,
        1e6 * sum(answer["cpu_s"] for answer in answers) / appends,
    )


Rounds = dict[tuple[Case, Way], list[Speed]]


def ratio(found: Rounds, case: Case, way: Way, to: Way = PLAIN) -> float:
    """How many times as fast, in the middle one of the rounds."""
    pairs = zip(found[case, way], found[case, to], strict=True)
    return median(one.mb_per_s / other.mb_per_s for one, other in pairs)


def growth(found: Rounds, one: Case, many: Case, way: Way) -> float:
    """What many workers do together, in workers."""
    pairs = zip(found[many, way], found[one, way], strict=True)
    return median(together.mb_per_s / alone.mb_per_s for together, alone in pairs)
