"""Whatever somebody points at is read within bounds, and what cannot be read is said."""

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from holdfast.diagnose import words_to_hear
from holdfast.logs.joined import Joined
from holdfast.logs.part import HeardPart
from holdfast.logs.read import Reading, parts, read
from holdfast.logs.readers import scanned_by
from holdfast.logs.scan_part import scan_part
from holdfast.logs.sources import list_sources
from holdfast.model.facts import LastWords, LogLine, OutputEnded

CALM = b"2026-11-15 10:00:%02d.000000: I tensorflow/core/common_runtime/executor.cc:1197] step %d\n"
TELLING = b"OSError: [Errno 24] Too many open files: '/data/shard-7'\n"
WORDS = tuple(pattern.text for pattern in words_to_hear())
RSS_MAX_BYTES = 300 << 20
WAIT_S = 60.0
NOBODY = 65534


def log_text(*, lines: int = 1_000) -> bytes:
    """Calm lines, and one that tells in the middle."""
    calm = [CALM % (number % 60, number) for number in range(lines)]
    return b"".join([*calm[: lines // 2], TELLING, *calm[lines // 2 :]])


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found_in(*paths: Path | str) -> Reading:
    return read([str(path) for path in paths], jobs=1)


def told_lines(reading: Reading) -> list[tuple[str, int]]:
    """The lines that tell of too many files: where they stand."""
    lines = (fact for fact in reading.facts if isinstance(fact, LogLine))
    return [(line.source, line.line) for line in lines if "Too many open" in line.text]


def ends(reading: Reading) -> list[OutputEnded]:
    return [fact for fact in reading.facts if isinstance(fact, OutputEnded)]


def test_a_log_is_read_with_the_numbers_of_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "worker-0.log", log_text())
    reading = found_in(path)
    assert told_lines(reading) == [(str(path), 501)]
    assert reading.unknown == ()
    assert (reading.files, reading.bytes_read) == (1, path.stat().st_size)
    assert [end.lines_total for end in ends(reading)] == [1001]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", ["a.log.{}", "a.log"])
def test_packed_logs_are_unpacked_whatever_their_names(
    tmp_path: Path, ending: str, name: str
) -> None:
    content = log_text(lines=20_000)
    path = written(tmp_path / name.format(ending), PACKED[ending](content))
    reading = found_in(path)
    assert told_lines(reading) == [(str(path), 10_001)]
    assert reading.bytes_read == len(content)


@pytest.mark.parametrize("ending", PACKED)
def test_what_can_be_read_of_a_packed_log_that_was_cut_off_is_read(
    tmp_path: Path, ending: str
) -> None:
    noise = os.urandom(300_000).hex().encode()
    whole = PACKED[ending](TELLING + noise + b"\nthe end\n")
    path = written(tmp_path / f"a.log.{ending}", whole[: len(whole) * 3 // 4])
    reading = found_in(path)
    if ending != "bz2":  # its blocks are large, and only whole ones can be unpacked
        assert told_lines(reading) == [(str(path), 1)]
    assert len(reading.unknown) == 1
    assert "is cut off" in reading.unknown[0]


def test_several_streams_in_one_file_are_one_log(tmp_path: Path) -> None:
    both = gzip.compress(log_text()) + gzip.compress(log_text()) + b"\0" * 512
    path = written(tmp_path / "a.gz", both)
    assert [line for _, line in told_lines(found_in(path))] == [501, 1502]


def test_what_follows_a_packed_log_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gz", gzip.compress(log_text()) + TELLING)
    reading = found_in(path)
    assert [line for _, line in told_lines(reading)] == [501]
    assert reading.unknown == (f"{path}: what follows the gzip stream is not read",)


def test_a_file_that_fails_in_the_middle_is_said() -> None:
    memory = "/proc/self/mem"  # its first page can never be read
    assert found_in(memory).unknown == (f"{memory}: reading stopped: Input/output error",)


def test_damaged_streams_are_said_to_be_damaged(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(log_text(lines=50_000), mtime=0))
    packed[len(packed) // 2] ^= 0xFF
    reading = found_in(written(tmp_path / "a.gz", bytes(packed)))
    assert "the gzip stream is damaged" in reading.unknown[0]


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2"])
def test_a_bomb_is_read_up_to_its_bound(tmp_path: Path, ending: str) -> None:
    """One bound is enough to test here: the size against what it unpacks to."""
    bomb = tmp_path / f"bomb.log.{ending}"
    once = PACKED[ending](b"a" * (40 << 20))
    written(bomb, once * 12)
    reading = found_in(bomb)
    assert reading.bytes_read < 400 << 20
    assert [gap for gap in reading.unknown if "times its size" in gap]


def test_what_is_no_text_is_left_alone(tmp_path: Path) -> None:
    binary = written(tmp_path / "core", b"\x7fELF\0\0\0\1" * 100)
    packed = written(tmp_path / "logs.tar.gz", gzip.compress(b"a.log\0\0\0ustar" * 100))
    log = written(tmp_path / "a.log", log_text())
    reading = found_in(binary, packed, log)
    assert reading.files == 1
    assert sorted(reading.unknown) == [f"{binary}: it is no text", f"{packed}: it is no text"]


def test_a_log_that_was_truncated_under_its_writer_is_still_a_log(tmp_path: Path) -> None:
    path = written(tmp_path / "a.log", b"\0" * 100_000 + b"\n" + log_text())
    assert told_lines(found_in(path)) == [(str(path), 502)]


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything: so it becomes somebody else for a while."""
    before = os.geteuid()
    os.seteuid(before or NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_what_may_not_be_read_is_said_and_the_others_are_read(open_to_all: Path) -> None:
    secret = written(open_to_all / "secret.log", log_text())
    secret.chmod(0)
    other = written(open_to_all / "a.log", log_text())
    with as_nobody():
        reading = found_in(secret, other)
    assert reading.files == 1
    assert reading.unknown == (f"{secret}: Permission denied",)


def test_what_vanishes_meanwhile_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a.log", log_text())
    todo = parts(list_sources([str(path)]).sources)
    path.unlink()
    (heard,) = scan_part(todo[0], WORDS)
    assert heard.unknown == (f"{path}: No such file or directory",)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    reading = found_in(tmp_path / "nowhere.log", written(tmp_path / "a.log", log_text()))
    assert reading.unknown == (f"{tmp_path / 'nowhere.log'}: there is no such file",)
    assert reading.files == 1


def test_a_folder_is_read_as_a_whole_without_what_is_no_log(tmp_path: Path) -> None:
    for name in ("b/2.log", "b/1.log", "a.err", ".git/x.log", "train.py", "model.h5", "empty.log"):
        written(tmp_path / name, b"" if name == "empty.log" else log_text())
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.log")
    reading = found_in(tmp_path)
    names = [Path(source).relative_to(tmp_path).as_posix() for source, _ in told_lines(reading)]
    assert names == ["a.err", "b/1.log", "b/2.log"]
    said = "\n".join(reading.unknown)
    assert "gone.log: No such file or directory" in said
    for name in ("train.py", "model.h5", "pipe.log"):
        assert name in said


def test_patterns_of_names_and_names_given_twice(tmp_path: Path) -> None:
    for name in ("w-1.log", "w-0.log", "ps.log"):
        written(tmp_path / name, log_text())
    reading = found_in(tmp_path / "w-*.log", tmp_path / "w-1.log", f"{tmp_path}/./w-0.log")
    assert [Path(source).name for source, _ in told_lines(reading)] == ["w-0.log", "w-1.log"]


def test_names_that_are_no_text_can_be_read_and_said(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\n\x1b[31m.log"
    Path(os.fsdecode(path)).write_bytes(log_text())
    reading = found_in(os.fsdecode(path))
    assert len(told_lines(reading)) == 1
    told_lines(reading)[0][0].encode()


def test_a_pipe_is_read_until_its_writer_closes_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = "import sys; open(sys.argv[1], 'wb').write(open(sys.argv[2], 'rb').read())"
    source = written(tmp_path / "a.log", log_text(lines=30_000))
    with subprocess.Popen([sys.executable, "-c", script, pipe, source]) as writer:
        reading = found_in(pipe)
        assert writer.wait(WAIT_S) == 0
    assert told_lines(reading) == [(str(pipe), 15_001)]


def test_one_line_that_does_not_end_is_judged_by_its_beginning(tmp_path: Path) -> None:
    long = TELLING.rstrip() + b"x" * (50 << 20)
    path = written(tmp_path / "a.log", b"first\n" + long + b"\n" + TELLING)
    script = (
        "import sys\n"
        "from holdfast.logs.read import read\n"
        "from holdfast.model.facts import LogLine\n"
        "reading = read([sys.argv[1]], jobs=1)\n"
        "print([fact.line for fact in reading.facts if isinstance(fact, LogLine)])\n"
        # getrusage would count what this process held when it made the other one.
        "status = open('/proc/self/status').read()\n"
        "print(status.partition('VmHWM:')[2].split()[0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, check=True, timeout=WAIT_S
    )
    lines, rss_kb = ran.stdout.decode().splitlines()
    assert lines == "[2, 3]"
    assert int(rss_kb) * 1024 < RSS_MAX_BYTES


def test_a_progress_bar_does_not_hide_what_is_printed_behind_it(tmp_path: Path) -> None:
    bar = b"".join(b"\r%d/5000 [====>......] - ETA: 3s - loss: 0.1" % n for n in range(5_000))
    path = written(tmp_path / "a.log", b"Epoch 1\n" + bar + b"\r" + TELLING + b"after\n")
    reading = found_in(path)
    assert told_lines(reading) == [(str(path), 2)]
    last = next(fact for fact in reading.facts if isinstance(fact, LastWords))
    assert last.lines[-1] == "after"


def test_a_flood_of_telling_lines_is_folded_and_counted(tmp_path: Path) -> None:
    flood = b"".join(
        b"OSError: [Errno 24] Too many open files: '/d/%d'\n" % n for n in range(9_000)
    )
    path = written(tmp_path / "a.log", b"No space left on device\n" + flood + b"EDQUOT at last\n")
    reading = found_in(path)
    heard = [fact for fact in reading.facts if isinstance(fact, LogLine)]
    assert heard[0].line == 1
    assert heard[-1].line == 9_002
    assert len(heard) < 100
    end = ends(reading)[0]
    assert (end.lines_heard, end.lines_total) == (9_002, 9_002)
    assert end.lines_left_out == 9_002 - len(heard)


def test_different_telling_lines_are_kept_up_to_a_bound(tmp_path: Path) -> None:
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefghijklmnop"]
    flood = "".join(f"{word} Too many open files {word * 9}\n" for word in words)
    reading = found_in(written(tmp_path / "a.log", flood.encode()))
    lines = [line for _, line in told_lines(reading)]
    assert lines[0] == 1
    assert lines[-1] == len(words)
    assert len(lines) <= 500


def parts_of(path: Path, part_bytes: int) -> list[HeardPart]:
    return [
        heard
        for part in parts(list_sources([str(path)]).sources, part_bytes=part_bytes)
        for heard in scan_part(part, WORDS)
    ]


def joined(heard: list[HeardPart]) -> object:
    together = Joined("a.log")
    for part in sorted(heard, key=lambda one: one.part.start):
        together.add(part)
    return together.heard()


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    trace = (
        b'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\nOSError: x\n'
    )
    path = written(tmp_path / "a.log", (log_text(lines=700) + trace) * 40)
    todo = parts(list_sources([str(path)]).sources, part_bytes=100_003)
    assert len(todo) > 10
    alone = [heard for part in todo for heard in scan_part(part, WORDS)]
    together = list(scanned_by(3, todo, WORDS))
    assert sorted(together, key=lambda one: one.part.start) == alone
    assert joined(together) == joined(parts_of(path, 1 << 30))


def test_a_reader_that_dies_costs_only_its_part(tmp_path: Path) -> None:
    path = written(tmp_path / "a.log", log_text(lines=3_000))
    todo = parts(list_sources([str(path)]).sources, part_bytes=30_000)
    heard: list[HeardPart] = []
    for number, one in enumerate(scanned_by(1, todo, WORDS)):
        heard.append(one)
        if number == 0:
            _kill_child()
    assert len(heard) == len(todo)
    assert [one.unknown for one in heard if one.unknown] == [
        (f"{path} from byte 30,000 to 60,000: our reader of it died",)
    ]


def _kill_child() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for child in children:
        command = Path(f"/proc/{child}/cmdline").read_bytes()
        if b"holdfast.logs.scan_part" in command:
            os.kill(int(child), signal.SIGKILL)
