"""What the tests of the core share: a look at all rows that count."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holdfast.rows.reading import parts, read_part, sources

Rows = dict[str, npt.NDArray[Any]]


def rows_in(logdir: Path) -> Rows:
    """All rows of one source, dataset by dataset, with a check that their numbers are right."""
    (source,) = sources(logdir)
    found: dict[str, list[npt.NDArray[Any]]] = {}
    counts: dict[str, int] = {}
    for part in parts(source):
        with read_part(part) as content:
            for name, dataset in content.datasets.items():
                empty = np.empty((0, *dataset.row_shape), dataset.numpy or object)
                found.setdefault(name, [empty])
            for block in content.blocks:
                name = block.dataset.name
                assert block.first_row == counts.get(name, 0)
                counts[name] = block.first_row + block.rows
                found[name].append(content.rows_of(block).copy())
    return {name: np.concatenate(batches) for name, batches in found.items()}


@pytest.fixture(name="rows_in")
def _rows_in() -> Callable[[Path], Rows]:
    return rows_in
