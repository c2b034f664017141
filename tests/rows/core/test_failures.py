"""Full disks, broken disks and vanished folders: a clear error, and what was acknowledged stays."""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.rows import writer as writer_module
from holdfast.rows.errors import Refused, Unwritable
from holdfast.rows.reading import parts, read_part, sources
from holdfast.rows.writer import Writer

Look = Callable[[Path], dict[str, Any]]
ROWS_MAX = 100_000
NOTICED_S_MAX = 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system to fill")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def append_until_full(writer: Writer, batch: Any) -> int:
    for done in range(ROWS_MAX):
        try:
            writer.append("x", batch + done)
        except Unwritable:
            return done
    pytest.fail("the disk did not fill up")


def append_for(writer: Writer, limit_s: float) -> None:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        writer.append("x", np.ones(1))


def test_a_full_disk_costs_nothing_acknowledged_and_writing_goes_on_with_space(
    small_disk: Path, rows_in: Look
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    batch = np.zeros((1, 1000), "f8")
    with Writer(small_disk, task="chief", seal="never", log_bytes_max=100_000) as writer:
        acknowledged = append_until_full(writer, batch)
        assert acknowledged > 20
        with pytest.raises(Unwritable, match="No space left") as full:
            writer.append("x", batch)
        assert "free some space" in full.value.do
        assert rows_in(small_disk)["x"][:, 0].tolist() == list(range(acknowledged))
        ballast.unlink()
        writer.append("x", batch + acknowledged)
    assert rows_in(small_disk)["x"][:, 0].tolist() == list(range(acknowledged + 1))
    (source,) = sources(small_disk)
    for part in parts(source):
        with read_part(part) as content:
            assert content.tail is None


def test_a_group_that_does_not_fit_leaves_nothing_behind(small_disk: Path, rows_in: Look) -> None:
    with Writer(small_disk, task="chief", seal="never") as writer:
        writer.append_many({"x": [1.0], "y": [1]})
        with pytest.raises(Unwritable):
            writer.append_many({"x": [2.0], "y": np.ones(2_000_000, "i8")})
        writer.append_many({"x": [3.0], "y": [3]})
    assert rows_in(small_disk)["x"].tolist() == [1.0, 3.0]
    assert rows_in(small_disk)["y"].tolist() == [1, 3]


def test_a_limit_of_file_sizes_begins_a_new_log(tmp_path: Path, rows_in: Look) -> None:
    code = """
import resource, sys
import numpy as np
from holdfast.rows import Unwritable
from holdfast.rows.writer import Writer
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
with Writer(sys.argv[1], task="chief", seal="never") as writer:
    done = refused = 0
    while done < 50:
        try:
            writer.append("x", np.full((1, 1000), done, "f8"))
            done += 1
        except Unwritable as error:
            assert "ulimit" in error.do
            refused += 1
print(refused)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert 3 <= int(done.stdout) <= 5
    assert rows_in(tmp_path)["x"][:, 0].tolist() == list(range(50))


def test_a_vanished_folder_is_noticed_while_appending(tmp_path: Path) -> None:
    writer = Writer(tmp_path, task="chief", seal="never")
    writer.append("x", np.ones(1))
    shutil.rmtree(tmp_path / "rows")
    with pytest.raises(Unwritable, match="removed while it was written"):
        append_for(writer, NOTICED_S_MAX)
    with pytest.raises(Unwritable, match="removed"):
        writer.append("x", 1.0)
    writer.close()


@pytest.mark.parametrize("act", [Writer.flush, Writer.close])
def test_a_vanished_folder_is_noticed_at_the_end(
    tmp_path: Path, act: Callable[[Writer], None]
) -> None:
    writer = Writer(tmp_path, task="chief", seal="never")
    writer.append("x", 1.0)
    shutil.rmtree(tmp_path / "rows")
    with pytest.raises(Unwritable, match="removed while it was written"):
        act(writer)


def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unwritable, match="cannot write"):
        Writer(tmp_path / "file", task="chief")


def test_a_failed_sync_acknowledges_nothing_and_ends_the_writer(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = Writer(tmp_path, task="chief", seal="never", ack="disk")
    writer.append("x", 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(Unwritable, match="Input/output error"):
            writer.append("x", 2.0)
    with pytest.raises(Unwritable, match="Input/output error"):
        writer.append("x", 3.0)
    writer.close()
    assert rows_in(tmp_path)["x"].tolist() == [1.0]


def test_what_could_not_be_taken_back_is_locked_and_taken_back_later(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = Writer(tmp_path, task="chief", seal="never", ack="disk")
    writer.append("x", 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(Unwritable):
            writer.append("x", 2.0)
    (source,) = sources(tmp_path)
    assert not parts(source)[0].is_over
    writer.close()
    assert parts(source)[0].is_over
    assert rows_in(tmp_path)["x"].tolist() == [1.0]


def test_a_failed_flush_takes_back_nothing_that_was_acknowledged(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = Writer(tmp_path, task="chief", seal="never")
    writer.append("x", [1.0, 2.0])
    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(Unwritable):
        writer.flush()
    writer.close()
    assert rows_in(tmp_path)["x"].tolist() == [1.0, 2.0]


def test_a_short_write_is_completed(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(fd: int, pieces: Sequence[bytes], at: int) -> int:
        return os.pwrite(fd, b"".join(pieces)[:50], at)

    with Writer(tmp_path, task="chief", seal="never") as writer:
        writer.dataset("x", dtype="f8")
        monkeypatch.setattr(writer_module, "pwritev", short)
        writer.append("x", np.arange(100.0))
    assert rows_in(tmp_path)["x"].tolist() == list(range(100))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "broken")])
def test_an_append_that_is_interrupted_leaves_no_half_row(
    tmp_path: Path, rows_in: Look, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def interrupted(fd: int, pieces: Sequence[bytes], at: int) -> int:
        os.pwrite(fd, b"".join(pieces)[:-1], at)
        raise error

    with Writer(tmp_path, task="chief", seal="never") as writer:
        writer.append("x", np.zeros(5))
        with monkeypatch.context() as patch:
            patch.setattr(writer_module, "pwritev", interrupted)
            with pytest.raises(Unwritable if isinstance(error, OSError) else KeyboardInterrupt):
                writer.append("x", np.ones(5))
        writer.append("x", np.full(5, 2.0))
    assert rows_in(tmp_path)["x"].tolist() == [0.0] * 5 + [2.0] * 5


@pytest.mark.parametrize("wrong", [{"ack": "maybe"}, {"seal": "often"}])
def test_refuses_choices_that_do_not_exist(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="unknown"):
        Writer(tmp_path, task="chief", **wrong)
