"""Bombs, cuts and damage: an archive costs bounded memory, and what was not read of it is said."""

import gzip
import io
import os
import random
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.logs.archive_files import (
    FEW,
    KINDS,
    TELLING,
    found_in,
    log_text,
    tar_of,
    told,
    written,
    zip_of,
)

from holdfast.logs import archive, unpack

WAIT_S = 100.0
RSS_MAX_BYTES = 300 << 20


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (archive, unpack):
        monkeypatch.setattr(module, "RATIO_FROM_BYTES", 1 << 20)
        monkeypatch.setattr(module, "RATIO_MAX", 100)


BOMB = b"step\n" * (4 << 20)  # 20 MiB


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.xz"])
def test_a_bomb_ends_with_a_sentence_and_what_came_before_it_is_kept(
    tmp_path: Path, kind: str
) -> None:
    path = written(tmp_path / "a", KINDS[kind]({"a.log": log_text(), "b.log": BOMB, "c.log": b""}))
    reading = found_in(path)
    assert told(reading) == [f"{path}!/a.log:51"]
    assert reading.bytes_read < 16 << 20
    whole = reading.unknown[0]
    assert whole.startswith(f"{path}: it unpacks to more than 100 times its size")
    assert whole.endswith("what follows is not read (2 logs before it)")
    assert any(said.startswith(f"{path}!/b.log: it unpacks to more") for said in reading.unknown)


@pytest.mark.usefixtures("small_bounds")
def test_many_small_bombs_are_one_large_one(tmp_path: Path) -> None:
    """Each stays below its own bound; so do members of a zip that are all the same bytes."""
    piece = gzip.compress(b"step\n" * 200_000)
    path = written(tmp_path / "a.tar", tar_of({f"{n}.log.gz": piece for n in range(50)}))
    reading = found_in(path)
    assert reading.bytes_read < 30 << 20
    assert "it unpacks to more than 100 times its size" in reading.unknown[0]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a.log", b"step\n" * 200_000)
        target.filelist *= 100
    same = found_in(written(tmp_path / "same.zip", made.getvalue()))
    assert same.bytes_read < 10 << 20
    assert same.unknown


@pytest.mark.parametrize("kind", KINDS)
def test_what_could_be_read_of_an_archive_that_was_cut_off_is_kept(
    tmp_path: Path, kind: str
) -> None:
    noise, more = (os.urandom(600_000).hex().encode() for _ in range(2))
    whole = KINDS[kind]({"a.log": log_text() + noise, "b.log": more, "c.log": log_text()})
    path = written(tmp_path / "a", whole[: len(whole) * 3 // 4])
    reading = found_in(path)
    said = "\n".join(reading.unknown)
    assert "cut off" in said
    if "zip" in kind:  # its list of members was at the end
        assert reading.files == 0
    else:
        assert told(reading) == [f"{path}!/a.log:51"]
        assert "what follows is not read (2 logs before it)" in said


def test_a_damaged_header_is_not_taken_for_the_end(tmp_path: Path) -> None:
    whole = bytearray(tar_of({"a.log": log_text(), "b.log": log_text(), "c.log": log_text()}))
    at = whole.index(b"b.log")
    whole[at : at + 5] = b"B.log"  # its sum no longer fits
    path = written(tmp_path / "a.tar", bytes(whole))
    reading = found_in(path)
    assert told(reading) == [f"{path}!/a.log:51"]
    (said,) = reading.unknown
    assert f"the header before byte {at + 512:,} is damaged: what follows is not read" in said


def test_a_tar_without_its_end_may_be_cut_off(tmp_path: Path) -> None:
    whole = tar_of({"a.log": b"x" * 512})
    path = written(tmp_path / "a.tar", whole[:1024])
    assert "it ends without an end mark" in found_in(path).unknown[0]


def test_a_damaged_member_costs_only_itself(tmp_path: Path) -> None:
    whole = bytearray(zip_of({"a.log": log_text(), "b.log": log_text()}, zipfile.ZIP_STORED))
    whole[whole.index(TELLING)] ^= 1
    path = written(tmp_path / "a.zip", bytes(whole))
    reading = found_in(path)
    assert f"{path}!/b.log:51" in told(reading)
    (said,) = reading.unknown
    assert said.startswith(f"{path}!/a.log: it is damaged: Bad CRC-32")


def test_a_header_that_is_too_large_is_not_held_in_memory(tmp_path: Path) -> None:
    first = tar_of({"a.log": log_text()}).rstrip(b"\0")
    first += b"\0" * (-len(first) % 512)
    note = tarfile.TarInfo("note")
    note.type, note.size = tarfile.XHDTYPE, 6 << 30
    path = tmp_path / "a.tar"
    path.write_bytes(first + note.tobuf(tarfile.GNU_FORMAT))
    os.truncate(path, 6 << 30)  # a hole, which costs nothing until somebody reads it
    reading = found_in(path)
    assert told(reading) == [f"{path}!/a.log:51"]
    assert "a header of more than 1 MiB" in reading.unknown[0]


def test_a_list_of_members_that_is_too_large_is_not_held_in_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", zip_of({f"{n:0200}": b"" for n in range(40_000)}))
    reading = found_in(path)
    assert reading.files == 0
    assert "its list of members is over 8 MiB" in reading.unknown[0]


def damaged(whole: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    spoilt = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
    return bytes(spoilt[: chance.randint(len(spoilt) // 2, len(spoilt))])


@pytest.mark.parametrize("kind", FEW)
def test_no_damage_is_more_than_a_gap(tmp_path: Path, kind: str) -> None:
    whole = KINDS[kind]({f"{n}.log": log_text(lines=4) for n in range(4)})
    path = tmp_path / "a"
    for seed in range(100):
        path.write_bytes(damaged(whole, seed))
        reading = found_in(path)
        assert reading.files or reading.unknown, seed


MEASURED = """
import sys
from holdfast.logs.read import read
reading = read([sys.argv[1]], jobs=1)
print(reading.bytes_read >> 20)
print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])
"""


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_large_member_does_not_take_its_size_in_memory(tmp_path: Path, kind: str) -> None:
    line = os.urandom(2_000).hex().encode() + b"\n"
    large = {"a.log": line * (400 << 20 >> 12)}
    path = written(tmp_path / "a", KINDS[kind](large))
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, path], capture_output=True, check=True, timeout=WAIT_S
    )
    mib, rss_kb = map(int, ran.stdout.split())
    assert mib > 350
    assert rss_kb * 1024 < RSS_MAX_BYTES
