"""Logs that go ahead of their rows: what is not written yet is never taken for rows or damage."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holdfast.rows import ahead
from holdfast.rows.reading import parts, sources
from holdfast.rows.reading_log import LogContent
from holdfast.rows.rescuing.log_frames import read_log
from holdfast.rows.sealing import seal_folder
from holdfast.rows.verifying import verify
from holdfast.rows.writer import Writer

Look = Callable[[Path], dict[str, npt.NDArray[Any]]]

BATCH = np.arange(32 * 100, dtype="<f4").reshape(32, 100)
APPENDS = 100


@pytest.fixture(autouse=True)
def _everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "pays_in", lambda folder: True)


def _left(logdir: Path, *, batch: npt.NDArray[Any] = BATCH) -> Path:
    """The log of a writer that never closed it: what a kill leaves."""
    child = os.fork()
    if not child:
        writer = Writer(logdir, task="chief", seal="never")
        for _ in range(APPENDS):
            writer.append("x", batch)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    (source,) = sources(logdir)
    (part,) = parts(source)
    return part.path


def _filler_bytes(log: Path) -> int:
    with log.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return size - ahead.written_bytes(file.fileno(), size)


def test_a_killed_writer_leaves_filler_that_is_neither_rows_nor_damage(
    tmp_path: Path, rows_in: Look
) -> None:
    log = _left(tmp_path)
    assert _filler_bytes(log) > 0
    with LogContent(log) as content:
        assert content.tail is None
    assert [(one.wrong, one.note) for one in verify(tmp_path)] == [("", "")]
    assert read_log(log, is_over=True).damages == []
    assert read_log(log, is_over=False).damages == []
    _, errors = seal_folder(tmp_path)
    assert errors == []
    assert np.array_equal(rows_in(tmp_path)["x"], np.tile(BATCH, (APPENDS, 1)))


def test_a_log_that_is_closed_has_no_filler(tmp_path: Path) -> None:
    with Writer(tmp_path, task="chief", seal="never") as writer:
        for _ in range(APPENDS):
            writer.append("x", BATCH)
        (path,) = writer.folder.glob("*.log")
        assert _filler_bytes(path) > 0
    assert _filler_bytes(path) == 0
    assert path.stat().st_size < APPENDS * (BATCH.nbytes + 100)


@pytest.mark.parametrize("left_bytes", [1, 3, 4, 20, 44, 45, 1000])
def test_a_write_that_was_cut_within_filler_was_never_acknowledged(
    tmp_path: Path, left_bytes: int
) -> None:
    log = _left(tmp_path)
    with log.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        end = ahead.written_bytes(file.fileno(), size)
        with LogContent(log) as content:
            last = content.blocks[-1]
        frame = log.read_bytes()[last.offset - 44 : last.offset + last.nbytes]
        os.pwrite(file.fileno(), frame[:left_bytes], end)
    with LogContent(log) as content:
        assert len(content.blocks) == APPENDS
        assert content.tail is not None
        assert content.tail.why == "the last frame is cut"
        assert content.tail.total_bytes - content.tail.good_bytes == left_bytes
    (damage,) = read_log(log, is_over=True).damages
    assert damage.is_cut
    assert (damage.start, damage.stop) == (end, end + left_bytes)
    assert seal_folder(tmp_path)[1] == []


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_last_frame_that_was_whole_and_is_not_any_more_is_told_as_damage(
    tmp_path: Path, value: float
) -> None:
    log = _left(tmp_path, batch=np.full_like(BATCH, value))
    with LogContent(log) as content:
        last = content.blocks[-1]
    with log.open("r+b") as file:
        os.pwrite(file.fileno(), b"\x55", last.offset + 7)
    with LogContent(log) as content:
        assert content.tail is not None
        assert content.tail.why == "a checksum differs"
        assert len(content.blocks) == APPENDS - 1
    (damage,) = read_log(log, is_over=True).damages
    assert not damage.is_cut
    assert damage.stop == last.offset + last.nbytes


def test_rows_that_end_like_filler_count(tmp_path: Path, rows_in: Look) -> None:
    like = np.frombuffer(ahead.FILLER[: 33 * 2000], np.uint8).reshape(-1, 33)
    for skip in range(33):
        logdir = tmp_path / str(skip)
        batch = np.ascontiguousarray(np.roll(like, skip, axis=1)[:100])
        _left(logdir, batch=batch)
        assert len(rows_in(logdir)["x"]) == 100 * APPENDS
        assert [(one.wrong, one.note) for one in verify(logdir)] == [("", "")]


def test_who_reads_while_rows_are_written_finds_no_damage(tmp_path: Path) -> None:
    over = threading.Event()
    wrong: list[str] = []
    looks = 0
    with Writer(tmp_path, task="chief", seal="never") as writer:
        writer.append("x", BATCH)

        def write() -> None:
            for _ in range(3000):
                if over.is_set():
                    break
                writer.append("x", BATCH)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            (log,) = writer.folder.glob("*.log")
            seen = 0
            while looks < 50 and thread.is_alive():
                looks += 1
                wrong += [one.wrong for one in verify(tmp_path) if one.wrong]
                wrong += map(
                    str, (one for one in read_log(log, is_over=False).damages if not one.is_cut)
                )
                with LogContent(log) as content:
                    assert len(content.blocks) >= seen
                    seen = len(content.blocks)
        finally:
            over.set()
            thread.join()
    assert looks
    assert wrong == []


def test_a_disk_without_room_for_filler_takes_rows(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, content: memoryview, at: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with Writer(tmp_path, task="chief", seal="never") as writer:
        for _ in range(APPENDS):
            writer.append("x", BATCH)
        (path,) = writer.folder.glob("*.log")
        assert _filler_bytes(path) == 0
    assert len(rows_in(tmp_path)["x"]) == 32 * APPENDS


@pytest.mark.parametrize("how", ["disk", "central"])
def test_logs_that_are_synced_or_followed_do_not_go_ahead(tmp_path: Path, how: str) -> None:
    options: dict[str, Any] = {"ack": "disk"} if how == "disk" else {"way": "central"}
    with Writer(tmp_path, task="chief", seal="never", **options) as writer:
        for _ in range(APPENDS):
            writer.append("x", BATCH)
        (path,) = writer.folder.glob("*.log")
        assert _filler_bytes(path) == 0
