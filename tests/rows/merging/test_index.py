"""The index shows all segments as one file, and nobody is told fill values for rows."""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast import rows
from holdfast.rows import indexing
from holdfast.rows.errors import Damaged, Refused
from holdfast.rows.indexing import index, open_index

Call = Callable[..., Any]


def test_plain_h5py_reads_all_rows_through_it_from_anywhere(
    logdir: Path, tmp_path: Path, write: Call, by_task: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write(logdir)
    made = index(logdir)
    moved = tmp_path / "moved"
    logdir.rename(moved)
    monkeypatch.chdir("/")
    with h5py.File(moved / "rows" / "index.h5") as file:
        for name in ("metrics/step", "metrics/loss", "metrics/packed", "points"):
            assert np.array_equal(file[name], by_task(written, name))
            assert made.rows[name] == len(file[name])
        assert np.array_equal(file["said"].asstr()[()], by_task(written, "said"))
        assert file["points"].attrs["unit"] == "m"
        assert file["never"].shape == (0,)


def test_it_is_made_while_tasks_write_and_says_what_is_not_in_it(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never", log_bytes_max=4096) as writer:
        for _ in range(3):
            writer.append("x", np.zeros(600))
        writer.append("x", np.zeros(10))  # in a log that stays open
        made = index(logdir)
        before = made.rows["x"]
        assert before == 1800
        assert [line.endswith("is still written") for line in made.not_in] == [True]
        with open_index(logdir) as reader:
            writer.append("x", np.zeros(600))
            index(logdir)
            assert reader["x"].shape == (before,)  # who has the old one open keeps it
    assert index(logdir).rows["x"] == 2410


def test_a_second_index_does_not_read_the_segments_again(
    logdir: Path, write: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logdir)
    first = index(logdir)

    def read_segment(path: Path) -> Any:
        raise AssertionError(path)

    monkeypatch.setattr(indexing, "read_segment", read_segment)
    assert index(logdir) == first


def test_more_segments_than_open_files_are_read_or_refused(logdir: Path) -> None:
    count = 40
    for task in range(count):
        with rows.open(logdir, task=f"worker:{task}", seal="never") as writer:
            writer.append("x", np.full(3, float(task)))
    index(logdir)
    path = logdir / "rows" / "index.h5"

    def plain() -> bool:
        """HDF5 itself says nothing: but what is missing is no number."""
        _limit(20, 200)
        with h5py.File(path) as file:
            return bool(np.isnan(file["x"][()]).any())

    def ours() -> bool:
        _limit(20, 200)
        with open_index(logdir) as file:
            return np.array_equal(file["x"][()], np.repeat(np.arange(float(count)), 3))

    def refused() -> bool:
        _limit(20, 30)
        with pytest.raises(Refused, match="40 segments, and this process may open 30 files"):
            open_index(logdir)
        return True

    assert all(map(in_child, (plain, ours, refused)))


def _limit(soft: int, hard: int) -> None:
    os.closerange(3, 256)  # what pytest has open would count
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def in_child(look: Callable[[], bool]) -> bool:
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if look() else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


def test_a_segment_that_is_gone_is_told(logdir: Path, write: Call) -> None:
    write(logdir)
    index(logdir)
    segment = next(logdir.rglob("000001.h5"))
    segment.unlink()
    with pytest.raises(Damaged, match="is gone"):
        open_index(logdir)
    with pytest.raises(Damaged, match="goes on with row"):
        index(logdir)
