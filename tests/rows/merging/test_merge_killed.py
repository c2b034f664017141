"""A merge that is killed, wherever, goes on when it is called again, to the same bytes."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.rows import merge_fill, merge_journal, sealing
from holdfast.rows.errors import Refused, Unwritable
from holdfast.rows.merge_journal import Journal
from holdfast.rows.merging import merge
from holdfast.rows.verifying import verify_merged

Call = Callable[..., Any]


@pytest.fixture(name="merged_in_child")
def _merged_in_child(killed: Call) -> Call:
    def merged(logdir: Path, output: Path, *, killed_at: int, order: str = "task") -> bool:
        return bool(killed(lambda: merge(logdir, output, order=order), at=killed_at))

    return merged


@pytest.mark.parametrize("order", ["task", "metrics/step"])
def test_killed_before_every_change_it_goes_on_to_the_same_bytes(
    logdir: Path, tmp_path: Path, write: Call, merged_in_child: Call, order: str
) -> None:
    write(logdir, batches=4)
    sealing.seal_folder(logdir)
    expected = tmp_path / "expected.h5"
    merge(logdir, expected, order=order)
    point, lived = 1, False
    while not lived:
        output = tmp_path / f"all-{point}.h5"
        lived = merged_in_child(logdir, output, killed_at=point, order=order)
        if not lived:
            # What is there under its own name is whole, or there is nothing.
            assert not output.exists() or output.read_bytes() == expected.read_bytes()
            if not output.exists() or (Journal(output).folder / "journal").exists():
                merge(logdir, output, order=order)
            else:  # nothing was left to do
                Journal(output).folder.rmdir()
        assert output.read_bytes() == expected.read_bytes(), point
        assert not Journal(output).folder.exists(), point
        output.unlink()
        point += 1
    assert point > 40


def test_killed_ten_times_in_a_row_it_comes_to_the_same_bytes(
    logdir: Path, tmp_path: Path, write: Call, merged_in_child: Call
) -> None:
    write(logdir)
    sealing.seal_folder(logdir)
    merge(logdir, tmp_path / "expected.h5")
    output = tmp_path / "all.h5"
    for number in range(10):
        # The first comes past the frame; then there are four changes to a step.
        assert not merged_in_child(logdir, output, killed_at=6 if number else 25)
    merge(logdir, output)
    assert output.read_bytes() == (tmp_path / "expected.h5").read_bytes()


def test_a_snapshot_of_open_logs_outlives_a_kill(
    logdir: Path, tmp_path: Path, write: Call, merged_in_child: Call
) -> None:
    write(logdir)
    merge(logdir, tmp_path / "expected.h5")
    output = tmp_path / "all.h5"
    killed_at = 6 * len(list(logdir.rglob("*.log"))) + 20  # when all snapshots are made
    assert not merged_in_child(logdir, output, killed_at=killed_at)
    sealing.seal_folder(logdir)  # the logs are gone, their rows are not
    made = merge(logdir, output)
    assert made.is_resumed
    assert output.read_bytes() == (tmp_path / "expected.h5").read_bytes()


def test_after_a_power_cut_steps_that_did_not_reach_the_disk_are_done_again(
    logdir: Path,
    tmp_path: Path,
    write: Call,
    merged_in_child: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(logdir)
    sealing.seal_folder(logdir)
    merge(logdir, tmp_path / "expected.h5")
    output = tmp_path / "all.h5"
    killed_at = 60
    assert not merged_in_child(logdir, output, killed_at=killed_at)
    with Journal(output) as journal:
        assert journal.past.done > 10
        places = journal.past.places
        assert places is not None
    with (Journal(output).folder / "partial.h5").open("r+b") as file:
        file.seek(min(place for place in places["rows"].values() if place))
        file.write(bytes(64))
    monkeypatch.setattr(merge_journal, "boot_id", lambda: "another")
    assert merge(logdir, output).is_resumed
    assert output.read_bytes() == (tmp_path / "expected.h5").read_bytes()
    assert verify_merged(output) > 0


def test_asked_for_something_else_it_begins_anew(
    logdir: Path, tmp_path: Path, write: Call, merged_in_child: Call
) -> None:
    write(logdir)
    sealing.seal_folder(logdir)
    output = tmp_path / "all.h5"
    assert not merged_in_child(logdir, output, killed_at=40)
    made = merge(logdir, output, order="time")
    assert not made.is_resumed
    merge(logdir, tmp_path / "expected.h5", order="time")
    assert output.read_bytes() == (tmp_path / "expected.h5").read_bytes()


def test_after_an_io_error_nothing_of_the_try_is_believed(
    logdir: Path, tmp_path: Path, write: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logdir, batches=4)
    output = tmp_path / "all.h5"

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fail)
        patched.setattr(merge_fill, "_SYNC_BYTES", 1 << 10)
        with pytest.raises(Unwritable, match="Input/output error"):
            merge(logdir, output)
    assert not output.exists()
    assert not merge(logdir, output).is_resumed
    assert verify_merged(output) > 0


def test_killed_when_only_the_empty_folder_was_left_nothing_stays(
    logdir: Path, tmp_path: Path, write: Call
) -> None:
    write(logdir)
    output = tmp_path / "all.h5"
    merge(logdir, output)
    left = Journal(output).folder
    left.mkdir()
    with pytest.raises(Refused, match="exists already"):
        merge(logdir, output)
    assert not left.exists()


@pytest.mark.parametrize("is_same", [True, False], ids=["its file", "another file"])
def test_the_file_that_it_had_made_is_known_again_on_another_disk(
    logdir: Path, tmp_path: Path, write: Call, merged_in_child: Call, *, is_same: bool
) -> None:
    """Device and inode numbers may change with a start of the machine; what is in it does not."""
    write(logdir, batches=4)
    sealing.seal_folder(logdir)
    output, point = tmp_path / "all.h5", 0
    while not output.exists():
        point += 1
        output = tmp_path / f"all-{point}.h5"
        assert not merged_in_child(logdir, output, killed_at=point)
    assert (Journal(output).folder / "journal").exists()
    content = output.read_bytes()
    number = output.stat().st_ino
    (tmp_path / "kept").hardlink_to(output)  # its number is not given again
    output.unlink()
    output.write_bytes(content if is_same else content[:-1])
    assert output.stat().st_ino != number
    if is_same:
        assert merge(logdir, output).notes[-1] == "an earlier try had made it already"
        assert not Journal(output).folder.exists()
    else:
        with pytest.raises(Refused, match="exists already"):
            merge(logdir, output)
