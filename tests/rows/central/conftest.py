"""What all tests of the central way need: workers that are processes, and a judge."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from holdfast.rows.central_state import central_folder, published, segment_numbers
from holdfast.rows.layout import segment_name

FEEDER = Path(__file__).with_name("feeder.py")
Arrived = dict[str, dict[str, np.ndarray]]
Feed = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    """Starts workers; those that still run at the end are killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(target: object, task: str, *more: str) -> subprocess.Popen[bytes]:
        noted = tmp_path / f"noted-{len(started)}"
        started.append(
            subprocess.Popen(
                [sys.executable, FEEDER, str(target), "--task", task, "--noted", noted, *more]
            )
        )
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def arrived() -> Callable[[Path], Arrived]:
    return what_arrived


@pytest.fixture
def judge(tmp_path: Path) -> Callable[[Path], Arrived]:
    """Nothing acknowledged is lost, nothing is doubled, nothing is half, the order is kept."""

    def judged(logdir: Path) -> Arrived:
        found = what_arrived(logdir)
        for noted in tmp_path.glob("noted-*"):
            note = noted.read_bytes()
            if len(note) < 72:
                continue  # killed before its first row
            count, folder = int.from_bytes(note[:8], "little"), note[8:].decode().strip()
            x = found.get(folder, {}).get("x", np.empty((0, 2), int))
            assert len(x) >= count, f"{folder}: {count} rows acknowledged, {len(x)} arrived"
            assert (x[:, 1] == np.arange(len(x))).all()
            index = int(folder.partition(".")[0].partition("-")[2])
            assert (x[:, 0] == index).all()
            y = found.get(folder, {}).get("y", np.empty(0, int))
            assert (np.diff(y) > 0).all()
            assert not len(y) or y[-1] <= len(x), "half of a group arrived"
        return found

    return judged


def what_arrived(logdir: Path) -> Arrived:
    """The rows of each source in the order of the central segments."""
    folder = central_folder(logdir)
    numbers = segment_numbers(folder)
    assert numbers == list(range(1, len(numbers) + 1))
    sources = {one.number: one.folder for one in published(logdir).positions.values()}
    pieces: dict[str, dict[str, list[np.ndarray]]] = {}
    next_row: dict[tuple[int, str], int] = {}
    for number in numbers:
        with h5py.File(folder / segment_name(number)) as file:
            origins: dict[str, h5py.Dataset] = {}
            file["_holdfast/arrival"].visititems(origins.__setitem__)
            for name, table in origins.items():
                if isinstance(table, h5py.Group):
                    continue
                rows, at = file[name][()], 0
                for source, first_row, count, _ in table[()].tolist():
                    assert next_row.get((source, name), 0) == first_row, "a gap, or rows twice"
                    next_row[source, name] = first_row + count
                    mine = pieces.setdefault(sources[source], {}).setdefault(name, [])
                    mine.append(rows[at : at + count])
                    at += count
                assert at == len(rows)
    return {
        source: {name: np.concatenate(parts) for name, parts in mine.items()}
        for source, mine in pieces.items()
    }
