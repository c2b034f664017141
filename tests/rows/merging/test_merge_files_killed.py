"""A merge of plain files that is killed, wherever, goes on when called again, to the same bytes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast.rows.merge_journal import Journal
from holdfast.rows.merging import Layout, merge
from holdfast.rows.plain_files import plan
from holdfast.rows.verifying import verify_merged

Call = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Plain rows, so short that all of them are steps; packed ones; text."""
    monkeypatch.setattr(plan, "SMALL_BYTES", 0)
    monkeypatch.setattr(plan, "STEP_BYTES", 64)
    made = tmp_path / "files"
    made.mkdir()
    for number in range(3):
        with h5py.File(made / f"worker_{number}.h5", "w") as file:
            file["x"] = np.arange(20.0) * (number + 1)
            file.create_dataset("packed", data=np.arange(50), chunks=(8,), compression="gzip")
            file["said"] = [f"{number} ü"] * 5
    return made


@pytest.mark.parametrize("layout", ["append", "group"])
def test_killed_before_every_change_it_goes_on_to_the_same_bytes(
    folder: Path, tmp_path: Path, killed: Call, layout: Layout
) -> None:
    expected = merge(folder, tmp_path / "expected.h5", layout=layout).output.read_bytes()
    point, lived, resumed = 1, False, 0
    while not lived:
        output = tmp_path / f"all-{point}.h5"
        lived = killed(partial(merge, folder, output, layout=layout), at=point)
        if not lived:
            # What is there under its own name is whole, or there is nothing.
            assert not output.exists() or output.read_bytes() == expected
            if not output.exists() or (Journal(output).folder / "journal").exists():
                resumed += merge(folder, output, layout=layout).is_resumed
            else:  # nothing was left to do
                Journal(output).folder.rmdir()
        assert output.read_bytes() == expected, point
        assert not Journal(output).folder.exists(), point
        output.unlink()
        point += 1
    assert point > 30
    assert resumed > 20


def test_a_file_that_changed_since_the_kill_is_merged_as_it_is_now(
    folder: Path, tmp_path: Path, killed: Call
) -> None:
    output = tmp_path / "all.h5"
    assert not killed(lambda: merge(folder, output), at=20)
    with h5py.File(folder / "worker_1.h5", "a") as file:
        file["x"][0] = 77
    made = merge(folder, output)
    assert not made.is_resumed
    with h5py.File(output) as file:
        assert file["x"][20] == 77
    assert verify_merged(output)
