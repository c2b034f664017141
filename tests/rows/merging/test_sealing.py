"""A log that is over becomes a segment: the same rows, once, whatever happens meanwhile."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast import rows
from holdfast.rows import sealing
from holdfast.rows.errors import Damaged
from holdfast.rows.segment import read_segment
from holdfast.rows.verifying import verify, verify_segment

Write = Callable[..., Any]


def files(logdir: Path, suffix: str) -> list[Path]:
    return sorted(path for path in logdir.rglob(f"*{suffix}") if path.name != "index.h5")


def test_the_same_log_gives_the_same_bytes(logdir: Path, tmp_path: Path, write: Write) -> None:
    write(logdir)
    other = tmp_path / "other"
    shutil.copytree(logdir, other)
    for place in (logdir, other):
        _, errors = sealing.seal_folder(place)
        assert errors == []
        assert files(place, ".log") == []
    assert len(files(logdir, ".h5")) > 3
    for one, two in zip(files(logdir, ".h5"), files(other, ".h5"), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_a_segment_is_plain_hdf5_with_all_rows_and_attributes(logdir: Path, write: Write) -> None:
    written = write(logdir)["worker:10"]
    sealing.seal_folder(logdir)
    found: dict[str, list[Any]] = {name: [] for name in written}
    for path in files(logdir / "rows" / "worker-10.0001", ".h5"):
        with h5py.File(path) as file:
            assert file["points"].attrs["unit"] == "m"
            assert file["metrics/packed"].compression == "gzip"
            assert file["never"].shape == (0,)
            for name, batches in found.items():
                batches.append(file[name].asstr()[()] if name == "said" else file[name][()])
    for name, batches in found.items():
        assert np.array_equal(np.concatenate(batches), written[name])


def test_a_torn_tail_goes_and_all_before_it_stays(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append("x", np.arange(10.0))
    (log,) = files(logdir, ".log")
    with log.open("ab") as file:
        file.write(b"HFR1" + b"\2" * 100)
    (segment,), errors = sealing.seal_folder(logdir)
    assert errors == []
    with h5py.File(segment) as file:
        assert np.array_equal(file["x"], np.arange(10.0))


def test_a_log_with_whole_rows_behind_damage_is_left_as_it_is(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        for _ in range(10):
            writer.append("x", np.arange(100.0))
    (log,) = files(logdir, ".log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    made, (error,) = sealing.seal_folder(logdir)
    assert made == []
    assert isinstance(error, Damaged)
    assert str(log) in error.message
    assert "rescue" in error.do
    assert log.read_bytes() == content
    assert [one.wrong for one in verify(logdir)] == [error.message]


def test_a_group_that_was_cut_is_no_damage(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append_many({"x": np.arange(10.0), "y": np.arange(10.0)})
        before = files(logdir, ".log")[0].stat().st_size
        writer.append_many({"x": np.arange(10.0), "y": np.arange(10.0)})
    (log,) = files(logdir, ".log")
    os.truncate(log, before + 150)  # behind the whole frame of x, within that of y
    (segment,), _ = sealing.seal_folder(logdir)
    with h5py.File(segment) as file:
        assert file["x"].shape == file["y"].shape == (10,)


def test_after_a_kill_between_birth_and_tidying_the_segment_wins(
    logdir: Path, write: Write
) -> None:
    write(logdir)
    logs = {path: path.read_bytes() for path in files(logdir, ".log")}
    sealing.seal_folder(logdir)
    segments = files(logdir, ".h5")
    for path, content in logs.items():
        path.write_bytes(content)
    leftover = segments[0].with_name(f".{segments[0].name}.0123456789abcdef.tmp")
    leftover.write_bytes(b"half")
    unborn, young = (
        segments[0].with_name(f".000009.log.{name}.tmp") for name in ("0123456789abcdef", "fresh")
    )
    unborn.write_bytes(b"")
    os.utime(unborn, (0, 0))
    young.write_bytes(b"")
    made, errors = sealing.seal_folder(logdir)
    assert (made, errors) == ([], [])
    assert files(logdir, ".log") == []
    assert not leftover.exists()
    assert not unborn.exists()
    assert young.exists()  # its writer may be about to lock it
    assert files(logdir, ".h5") == segments


def test_an_open_log_is_not_sealed(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append("x", 1.0)
        assert sealing.seal_folder(logdir) == ([], [])
        writer.append("x", 2.0)
    (segment,), _ = sealing.seal_folder(logdir)
    with h5py.File(segment) as file:
        assert file["x"][()].tolist() == [1.0, 2.0]


def test_the_program_seals_and_ends(logdir: Path, write: Write) -> None:
    write(logdir)
    command = [sys.executable, "-m", "holdfast.rows.sealing", str(logdir)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert files(logdir, ".log") == []
    assert all(one.wrong == "" for one in verify(logdir))


def test_a_writer_starts_sealing_beside_itself(logdir: Path) -> None:
    with rows.open(logdir, task="worker:0", log_bytes_max=4096) as writer:
        for _ in range(4):
            writer.append("x", np.zeros(1000))
    assert sealing._started
    for process in sealing._started:
        assert process.wait(120) == 0
    sealing.seal_folder(logdir)  # what was closed while it was about to end
    assert files(logdir, ".log") == []


@pytest.mark.parametrize("name", ["metrics/loss", "metrics/packed", "said"])
def test_a_flipped_byte_in_a_segment_is_found(logdir: Path, write: Write, name: str) -> None:
    write(logdir)
    sealing.seal_folder(logdir)
    path = files(logdir, ".h5")[0]
    with h5py.File(path) as file:
        if name == "metrics/loss":
            place = file[name].id.get_offset()
        elif name == "metrics/packed":
            place = file[name].id.get_chunk_info(0).byte_offset + 5
        else:
            place = path.read_bytes().index("chief:0 ü 0.1".encode())
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match=path.name):
        verify_segment(read_segment(path))
