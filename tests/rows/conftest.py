"""A file that somebody else may write, and that somebody, for the tests of the guard."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.rows.puppet import Puppet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "all.h5"
    with h5py.File(path, "w") as file:
        file["rows"] = np.arange(1000.0)
    return path


@pytest.fixture
def other() -> Iterator[Puppet]:
    with Puppet("worker:7") as puppet:
        yield puppet
