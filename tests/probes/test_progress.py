"""What a task leaves behind: the ends of its streams, its checkpoints, its event files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.probes import open_files
from holdfast.probes.progress import PIECE_BYTES_MAX, Left, Output, Traces


class Stream:
    def __init__(self, path: Path) -> None:
        self.file = path.open("ab", buffering=0)
        self.fd = os.open(path, os.O_RDONLY)
        self.output = Output()

    def new(self) -> list[bytes]:
        return self.output.new({"out": self.fd})


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    found = Stream(tmp_path / "worker-0.1.out")
    yield found
    found.file.close()
    os.close(found.fd)


def test_each_line_is_new_once(stream: Stream) -> None:
    assert stream.new() == []
    stream.file.write(b"step 1\nstep 2\n")
    assert stream.new() == [b"step 1\nstep 2\n"]
    assert stream.new() == []
    stream.file.write(b"step 3\n")
    assert stream.new() == [b"step 3\n"]


def test_half_a_line_is_read_again_with_its_other_half(stream: Stream) -> None:
    stream.file.write(b"one\nstep 1")
    assert stream.new() == [b"one\nstep 1"]
    assert stream.new() == []
    stream.file.write(b"20\n")
    assert stream.new() == [b"step 120\n"]


def test_of_a_flood_only_the_end_is_read_from_where_a_line_begins(stream: Stream) -> None:
    stream.file.write(b"a line of a flood\n" * 100_000 + b"step 7\n")
    (piece,) = stream.new()
    assert len(piece) <= PIECE_BYTES_MAX
    assert piece.lstrip(b"\n").startswith(b"a line of a flood\n")
    assert piece.endswith(b"step 7\n")


def test_a_line_without_end_is_bounded(stream: Stream) -> None:
    stream.file.write(b"x" * 100_000)
    stream.new()
    stream.file.write(b"x" * 100_000 + b"\nstep 8\n")
    (piece,) = stream.new()
    assert piece == b"\nstep 8\n"


def test_a_stream_that_was_cut_short_is_read_from_its_new_end(
    stream: Stream, tmp_path: Path
) -> None:
    stream.file.write(b"step 1\n" * 10)
    stream.new()
    os.truncate(tmp_path / "worker-0.1.out", 7)
    assert stream.new() in ([], [b""])
    stream.file.write(b"step 2\n")
    assert stream.new() == [b"step 2\n"]


def test_a_stream_that_is_gone_tells_nothing() -> None:
    assert Output().new({"out": 999}) == []


def test_a_folder_is_known_from_an_open_event_file(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "logs"
    folder.mkdir()
    traces = Traces()
    assert traces.look(open_files(os.getpid())) == Left()
    with (folder / "events.out.tfevents.1.host").open("wb", buffering=0) as events:
        events.write(b"x" * 10)
        (folder / "model.ckpt-40.index").touch()
        (folder / "model.ckpt-120.index").touch()
        (folder / "model.ckpt-999.data-00000-of-00001").touch()
        (folder / "checkpoint").touch()
        assert traces.look(open_files(os.getpid())) == Left(checkpoint=120, event_bytes=10)
        assert traces.folders == [str(folder)]
        events.write(b"x" * 5)
    assert traces.look(open_files(os.getpid())).event_bytes == 15, "it stays known"


def test_a_checkpoint_that_is_being_written_shows_its_folder(tmp_path: Path) -> None:
    parts = tmp_path.resolve() / "ckpt-80_temp"
    parts.mkdir()
    traces = Traces()
    with (parts / "part-00000-of-00001.data-00000-of-00001").open("wb"):
        traces.look(open_files(os.getpid()))
    assert traces.folders == [str(tmp_path.resolve())]


def test_no_link_leads_elsewhere(tmp_path: Path) -> None:
    home, elsewhere = tmp_path.resolve() / "logs", tmp_path.resolve() / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    traces = Traces()
    with (home / "events.out.tfevents.1").open("wb", buffering=0) as events:
        events.write(b"x")
        (elsewhere / "secret").write_bytes(b"y" * 100)
        (home / "events.out.tfevents.2").symlink_to(elsewhere / "secret")
        assert traces.look(open_files(os.getpid())).event_bytes == 1
    home.rename(tmp_path / "moved")
    home.symlink_to(elsewhere)
    (elsewhere / "ckpt-7.index").touch()
    assert traces.look(open_files(os.getpid())) == Left()


def test_a_folder_above_that_became_a_link_is_left_alone(tmp_path: Path) -> None:
    above, elsewhere = tmp_path.resolve() / "job", tmp_path.resolve() / "elsewhere"
    for folder in (above / "logs", elsewhere / "logs"):
        folder.mkdir(parents=True)
    traces = Traces()
    with (above / "logs" / "events.out.tfevents.1").open("wb"):
        traces.look(open_files(os.getpid()))
    above.rename(tmp_path / "moved")
    above.symlink_to(elsewhere)
    (elsewhere / "logs" / "ckpt-7.index").touch()
    assert traces.look(open_files(os.getpid())) == Left()


def test_a_process_that_is_gone_leaves_what_it_left(tmp_path: Path) -> None:
    traces = Traces([str(tmp_path.resolve())])
    (tmp_path / "ckpt-3.index").touch()
    assert traces.look(open_files(2**22 + 1)) == Left(checkpoint=3)
