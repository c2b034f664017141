"""Rows that tell where they come from, so that whatever lost, doubled or damaged one is caught.

Every row holds its batch, its place in the batch, the length of the batch and a sum over these.
A batch number is 1000 times the number of its writer, and counts up from there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BATCHES_MAX = 1000  # of one writer
WRITERS_MAX = 2**21 // BATCHES_MAX
PLACES_MAX = 2**16

Numbers = npt.NDArray[np.int64]


class Shape(NamedTuple):
    """How a dataset is declared."""

    dtype: str
    row_shape: tuple[int, ...] = ()
    compression: str | None = None
    chunk_rows: int | None = None  # short ones: a chunk is unpacked whole, however empty it is


DATASETS: Mapping[str, Shape] = {
    "metrics/loss": Shape("<f8"),
    "samples": Shape("<f4", (5,)),
    "metrics/steps": Shape("<i8", (4,), "gzip", 32),
    "names": Shape("str"),
}


def sum_of(batch: Numbers, place: Numbers) -> Numbers:
    return (batch * 40503 + place * 2654435761 + 97) & 0x3FFFFF


def told(name: str, batch: int, rows: int) -> Any:
    """The rows of one batch of one dataset."""
    place = np.arange(rows, dtype=np.int64)
    batches = np.full(rows, batch, dtype=np.int64)
    sums = sum_of(batches, place)
    match name:
        case "metrics/loss":
            return (batches * 2.0**32 + place * 2.0**16 + rows).astype("<f8")
        case "samples":
            return np.stack([batches, place, np.full(rows, rows), sums, -sums], axis=1).astype(
                "<f4"
            )
        case "metrics/steps":
            return np.stack([batches, place, np.full(rows, rows), sums], axis=1).astype("<i8")
        case _:
            return [f"ü{batch}/{at}/{rows}/{sums[at]}" for at in range(rows)]


def declare(writer: Any) -> None:
    """Declares all told datasets."""
    for name, shape in DATASETS.items():
        writer.dataset(
            name,
            dtype=shape.dtype,
            shape=shape.row_shape,
            compression=shape.compression,
            chunk_rows=shape.chunk_rows,
        )


class Origins(NamedTuple):
    """Where rows say they come from, and how many say something impossible."""

    batch: Numbers
    place: Numbers
    rows: Numbers
    damaged: int


def origins(name: str, found: npt.NDArray[Any]) -> Origins:
    """What `told` put into rows, read back."""
    if name == "metrics/loss":
        whole = np.where(np.isfinite(found), found, 0).astype(np.int64)
        batch, place, rows = whole >> 32, (whole >> 16) & 0xFFFF, whole & 0xFFFF
        return Origins(batch, place, rows, int(np.sum(whole != found)))
    if name == "names":
        table = np.array([_split(text) for text in found], dtype=np.int64).reshape(-1, 4)
    else:
        table = np.where(np.isfinite(found), found, 0).astype(np.int64)
    batch, place, rows, sums = (table[:, column] for column in range(4))
    wrong = sums != sum_of(batch, place)
    if name == "samples":
        wrong |= table[:, 4] != -sums
    return Origins(batch, place, rows, int(np.sum(wrong)))


def _split(text: bytes | str) -> list[int]:
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    parts = text.removeprefix("ü").split("/")
    is_whole = len(parts) == 4 and all(part.isdigit() for part in parts)
    return [int(part) for part in parts] if is_whole else [0, 0, 0, 0]


@dataclass
class Verdict:
    """What is wrong with what was read back; nothing, if all is well."""

    damaged: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0  # writers of which a batch is there in part, or out of order

    def __bool__(self) -> bool:
        return bool(self.damaged or self.lost or self.doubled or self.torn)

    def __str__(self) -> str:
        return f"{self.damaged} damaged, {self.lost} lost, {self.doubled} doubled, {self.torn} torn"


def judge(
    found: Mapping[str, npt.NDArray[Any]], acknowledged: Mapping[str, Iterable[int]]
) -> Verdict:
    """Every acknowledged batch is there once, whole, and in the order of its writer."""
    verdict = Verdict()
    for name in {*found, *acknowledged}:
        batches: set[int] = set()
        if name in found:
            seen = origins(name, found[name])
            verdict.damaged += seen.damaged
            for mine in _by_writer(seen):
                batches |= _judge_writer(verdict, mine)
        verdict.lost += len(set(acknowledged.get(name, ())) - batches)
    return verdict


def _by_writer(seen: Origins) -> Iterator[Origins]:
    """What each writer wrote, in the order in which it was found."""
    writers = seen.batch // BATCHES_MAX
    order = np.argsort(writers, kind="stable")
    cuts = np.flatnonzero(np.diff(writers[order])) + 1
    for mine in np.split(order, cuts):
        if len(mine):
            yield Origins(seen.batch[mine], seen.place[mine], seen.rows[mine], 0)


def _judge_writer(verdict: Verdict, mine: Origins) -> set[int]:
    """The batches that are there whole."""
    batch, place, rows = mine.batch, mine.place, mine.rows
    keys = batch * PLACES_MAX + place
    verdict.doubled += len(keys) - len(np.unique(keys))
    firsts = np.flatnonzero(place == 0)
    in_order = np.concatenate([np.arange(length) for length in rows[firsts]] or [rows[:0]])
    if (
        np.array_equal(in_order, place)
        and np.array_equal(np.repeat(batch[firsts], rows[firsts]), batch)
        and bool(np.all(np.diff(batch[firsts]) > 0))
    ):
        return {int(number) for number in batch[firsts]}
    verdict.torn += 1
    return {
        int(number)
        for number in np.unique(batch)
        if np.array_equal(np.unique(place[batch == number]), np.arange(rows[batch == number][0]))
    }


def read_file(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All told datasets of a file, by plain h5py."""
    import h5py  # noqa: PLC0415 - the judge of strings alone does not need it

    with h5py.File(path, "r") as file:
        return {name: file[name][()] for name in DATASETS if name in file}
