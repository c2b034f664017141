"""A segment: the rows of one closed log as a plain HDF5 file that never changes again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.layout import FORMAT
from holdfast.rows.reading import Block, PartContent
from holdfast.rows.schema import Dataset
from holdfast.rows.sums import SUM_OF_NOTHING, Sum

GROUP: Final = "_holdfast"
BLOCKS: Final = "blocks"
DATASETS: Final = "datasets"
BLOCK: Final = np.dtype(
    [("dataset", "<u2"), ("first_row", "<u8"), ("rows", "<u4"), ("time_ns", "<u8")]
)
_DATASETS_BYTES_MAX: Final = 1 << 30


@dataclass(frozen=True)
class Stored:
    """The rows of one dataset in one segment."""

    dataset: Dataset
    first_row: int  # of this dataset in its source
    rows: int
    xxh3: int  # of the rows' bytes in order; of text, see storage.add_text
    packed_xxh3: int | None = None  # of compressed chunks, in order, as they lie in the file
    offset: int = 0  # where plain rows begin in the file

    @property
    def nbytes(self) -> int:
        return self.rows * self.dataset.row_bytes

    def to_json(self) -> dict[str, Any]:
        told = self.dataset.to_json() | {"first_row": self.first_row, "rows": self.rows}
        return told | {"xxh3": self.xxh3, "packed_xxh3": self.packed_xxh3}

    @classmethod
    def from_json(cls, told: dict[str, Any], *, offset: int = 0) -> "Stored":
        """A stranger's word: KeyError, TypeError, ValueError or Refused if it is none."""
        packed = told.get("packed_xxh3")
        return cls(
            dataset=Dataset.from_json(told),
            first_row=int(told["first_row"]),
            rows=int(told["rows"]),
            xxh3=int(told["xxh3"]),
            packed_xxh3=None if packed is None else int(packed),
            offset=offset,
        )


@dataclass(frozen=True)
class Segment:
    """What a segment says of itself."""

    path: Path
    task: str
    incarnation: int
    number: int
    datasets: tuple[Stored, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "incarnation": self.incarnation,
            "number": self.number,
            "datasets": [stored.to_json() for stored in self.datasets],
        }

    @classmethod
    def from_json(cls, path: Path, told: dict[str, Any]) -> "Segment":
        """Without the places of rows in the file: for those who read by name."""
        datasets = tuple(map(Stored.from_json, told["datasets"]))
        return cls(path, told["task"], told["incarnation"], told["number"], datasets)


def write_segment(
    path: Path, content: PartContent, *, task: str, incarnation: int, number: int
) -> None:
    """Writes all rows of a log into a new file. The same log gives the same bytes."""
    blocks: dict[str, list[Block]] = {name: [] for name in content.datasets}
    for block in content.blocks:
        blocks[block.dataset.name].append(block)
    with storage.create(path) as file:
        told: list[dict[str, Any]] = []
        for dataset in sorted(content.datasets.values(), key=lambda one: one.id):
            mine = blocks[dataset.name]
            write = _write_packed if storage.is_packed(dataset) else _write_plain
            told.append(
                dataset.to_json()
                | {
                    "first_row": mine[0].first_row if mine else 0,
                    "rows": sum(block.rows for block in mine),
                }
                | write(file, dataset, mine, content)
            )
        group = file.create_group(GROUP)
        group.attrs["format"] = FORMAT
        group.attrs["task"] = task
        group.attrs["incarnation"] = incarnation
        group.attrs["number"] = number
        table = np.array(
            [(one.dataset.id, one.first_row, one.rows, one.time_ns) for one in content.blocks],
            dtype=BLOCK,
        )
        group.create_dataset(BLOCKS, data=table, track_times=False)
        write_json(group, DATASETS, told)


def write_json(group: Any, name: str, value: Any) -> None:
    """As a dataset: an attribute could not be longer than 64 KiB."""
    text = np.array(json.dumps(value, separators=(",", ":")).encode(), dtype="S")
    group.create_dataset(name, data=text, track_times=False)


def read_json(group: Any, name: str) -> Any:
    """What write_json wrote; ValueError if it is not that."""
    found = group.get(name)
    if found is None or found.shape != () or found.dtype.kind != "S":
        raise ValueError(f"no {name}")
    if found.dtype.itemsize > _DATASETS_BYTES_MAX:
        raise ValueError(f"{name} is too long")
    return json.loads(bytes(found[()]))


def _write_plain(
    file: Any, dataset: Dataset, blocks: list[Block], content: PartContent
) -> dict[str, Any]:
    rows = sum(block.rows for block in blocks)
    offset = storage.create_plain(file, dataset, rows)
    fd = file.id.get_vfd_handle()
    if not rows:
        return {"xxh3": SUM_OF_NOTHING}
    return {"xxh3": storage.write_plain(fd, offset, map(content.rows_of, blocks))}


def _write_packed(
    file: Any, dataset: Dataset, blocks: list[Block], content: PartContent
) -> dict[str, Any]:
    target = storage.create_packed(file, dataset, sum(block.rows for block in blocks))
    add, xxh3 = storage.adds(dataset), Sum()
    for block in blocks:
        rows = content.rows_of(block)
        add(xxh3, rows)
        target.append(rows)
    target.finish()
    if dataset.is_text:
        return {"xxh3": xxh3.intdigest()}
    packed = Sum()
    for _, chunk in chunks_of(target.made):
        packed.update(chunk)
    return {"xxh3": xxh3.intdigest(), "packed_xxh3": packed.intdigest()}


def chunks_of(made: Any) -> Iterator[tuple[int, bytes]]:
    """Filter mask and bytes of each chunk, as they lie in the file."""
    rest = (0,) * (len(made.shape) - 1)
    for row in range(0, made.shape[0], made.chunks[0]):
        yield made.id.read_direct_chunk((row, *rest))


def read_segment(path: Path) -> Segment:
    """What a segment says of itself, compared with what is in it; Damaged if they differ."""
    with storage.open_finished(path) as file:
        try:
            return read_open_segment(path, file)
        except (KeyError, TypeError, ValueError, AttributeError, OSError, RowsError) as error:
            raise Damaged(f"{path} is no whole segment: {error}", do=storage.RESCUE) from error


def read_open_segment(path: Path, file: Any) -> Segment:
    group = file[GROUP]
    attrs = group.attrs
    if attrs["format"] != FORMAT:
        raise ValueError(f"its format is {attrs['format']!r:.80}, not {FORMAT}")
    return Segment(
        path=path,
        task=str(attrs["task"]),
        incarnation=int(attrs["incarnation"]),
        number=int(attrs["number"]),
        datasets=tuple(_stored(file, told) for told in read_json(group, DATASETS)),
    )


def _stored(file: Any, told: dict[str, Any]) -> Stored:
    dataset = Dataset.from_json(told)
    made = file[dataset.name]
    rows = int(told["rows"])
    if made.shape != (rows, *dataset.row_shape):
        raise ValueError(f"{dataset.name} has shape {made.shape}, not {rows} rows")
    if dataset.numpy is not None and made.dtype != dataset.numpy:
        raise ValueError(f"{dataset.name} is {made.dtype}, not {dataset.numpy}")
    offset = 0 if storage.is_packed(dataset) or not rows else made.id.get_offset()
    if offset is None:
        raise ValueError(f"{dataset.name} is not one piece")
    return Stored.from_json(told, offset=offset)


def blocks_of(path: Path) -> Any:
    """When which rows came, as a table."""
    with storage.open_finished(path) as file:
        table = file[f"{GROUP}/{BLOCKS}"][()]
    if table.dtype != BLOCK:
        raise Damaged(f"{path}: its table of blocks is not ours", do=storage.RESCUE)
    return table
