"""Archives of logs are read as folders are: within bounds, never unpacked to a disk."""

import gzip
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.logs.archive_files import (
    FEW,
    KINDS,
    found_in,
    log_text,
    tar_of,
    told,
    written,
    zip_of,
)

from holdfast.diagnose import words_to_hear
from holdfast.logs import read, scan_archive
from holdfast.logs.read import parts
from holdfast.logs.readers import scanned_by
from holdfast.logs.scan_part import scan_part
from holdfast.logs.sources import list_sources
from holdfast.model.facts import LogLine

WORDS = tuple(pattern.text for pattern in words_to_hear())
WAIT_S = 100.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["logs.{}", "whatever"])
def test_the_logs_in_an_archive_are_read_one_by_one(tmp_path: Path, kind: str, name: str) -> None:
    files = {"job/worker-0.err": log_text(), "job/ps-0.log": log_text(lines=40), "empty.log": b""}
    path = written(tmp_path / name.format(kind), KINDS[kind](files))
    reading = found_in(path)
    assert told(reading) == [f"{path}!/job/worker-0.err:51", f"{path}!/job/ps-0.log:21"]
    assert reading.unknown == ()
    assert (reading.files, reading.bytes_read) == (3, sum(map(len, files.values())))
    assert {str(fact.task) for fact in reading.facts if isinstance(fact, LogLine)} == {
        "worker:0",
        "ps:0",
    }


@pytest.mark.parametrize("kind", FEW)
def test_a_packed_log_in_an_archive_is_unpacked(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "a", KINDS[kind]({"w.log.gz": gzip.compress(log_text())}))
    assert told(found_in(path)) == [f"{path}!/w.log.gz:51"]


@pytest.mark.parametrize("kind", FEW)
def test_what_is_not_read_of_an_archive_is_named(tmp_path: Path, kind: str) -> None:
    inner = {"x.log": log_text()}
    files = {
        "a.log": log_text(),
        "old.tar.gz": tar_of(inner, "w:gz"),
        "lies.log": zip_of(inner),
        "lies.too": tar_of(inner, "w:xz"),
        "model.h5": b"x",
        "core": b"\x7fELF\0\0\1",
        ".git/b.log": log_text(),
    }
    path = written(tmp_path / "a", KINDS[kind](files))
    reading = found_in(path)
    assert told(reading) == [f"{path}!/a.log:51"]
    assert reading.unknown == (
        f"{path}: {scan_archive.NESTED}: old.tar.gz, lies.log, lies.too",
        f"{path}: not read, as their names are not those of logs: model.h5",
        f"{path}: not read, as they are no text: core",
    )


def test_an_encrypted_member_and_one_of_another_method_are_named(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a.log", log_text())
        target.writestr("b.log", log_text(), compress_type=zipfile.ZIP_LZMA)
        target.writestr("c.log", log_text())
        target.filelist[-1].flag_bits |= 1
    path = written(tmp_path / "a.zip", made.getvalue())
    reading = found_in(path)
    assert told(reading) == [f"{path}!/a.log:51"]
    assert reading.unknown == (
        f"{path}: packed with method 14, which is not read (deflate is): b.log",
        f"{path}: encrypted, and so not read: c.log",
    )


def test_links_and_devices_in_an_archive_are_named(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as target:
        for name, kind in (("l.log", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE)):
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/passwd"
            target.addfile(about)
        device = tarfile.TarInfo("d.log")
        device.type = tarfile.CHRTYPE
        target.addfile(device)
    path = written(tmp_path / "a.tar", made.getvalue())
    assert found_in(path).unknown == (
        f"{path}: it holds no logs",
        f"{path}: links and devices are not read: l.log, h, d.log",
    )


HOSTILE = ("../../up.log", "/etc/abs.log", "a/./b//c.log", "\x1b[31m\nred.log", "é" * 900, "..")


@pytest.mark.parametrize("kind", FEW)
def test_no_name_leaves_the_archive_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "in" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "in" / "here")
    made = KINDS[kind](dict.fromkeys(HOSTILE, log_text()))
    path = written(tmp_path / "a", made)
    reading = found_in(path)
    names = [line.removeprefix(f"{path}!/").removesuffix(":51") for line in told(reading)]
    red = "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}red.log"
    long = f"…{'é' * 400}"
    assert names == ["up.log", "etc/abs.log", "a/b/c.log", red, long, "(without a name)"]
    assert sorted(found.name for found in tmp_path.rglob("*")) == ["a", "here", "in"]


def test_one_name_given_twice_means_two_logs(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as target:
        for lines in (10, 20):
            about = tarfile.TarInfo("w.log")
            about.size = len(log_text(lines=lines))
            target.addfile(about, io.BytesIO(log_text(lines=lines)))
    path = written(tmp_path / "a.tar", made.getvalue())
    assert told(found_in(path)) == [f"{path}!/w.log:6", f"{path}!/w.log (2):11"]


@pytest.mark.parametrize("kind", FEW)
def test_an_archive_with_too_many_members_is_read_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    many = {f"{n}.log": log_text(lines=4) for n in range(8)}
    path = written(tmp_path / "a", KINDS[kind](many))
    monkeypatch.setattr(scan_archive, "FILES_MAX", 5)
    reading = found_in(path)
    assert reading.files == 5
    assert (
        "it has more than 5 logs: what follows is not read (5 logs before it)"
        in (reading.unknown[0])
    )
    monkeypatch.setattr(scan_archive, "ENTRIES_MAX", 3)
    assert "it has more than 3 entries" in found_in(path).unknown[0]


def test_many_archives_together_are_read_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"{n}.log": log_text(lines=4) for n in range(4)}
    paths = [written(tmp_path / f"{name}.zip", zip_of(many)) for name in "ab"]
    monkeypatch.setattr(read, "FILES_MAX", 6)
    reading = found_in(*paths)
    assert told(reading) == [
        *(f"{paths[0]}!/{n}.log:3" for n in range(4)),
        *(f"{paths[1]}!/{n}.log:3" for n in range(2)),
    ]
    assert reading.unknown == ("2 more logs in archives: at most 6 are read",)


def test_processes_find_in_archives_what_one_finds(tmp_path: Path) -> None:
    many = {f"{n}.log": log_text(lines=4) for n in range(9)}
    for number, kind in enumerate(KINDS):
        written(tmp_path / f"{number}.{kind}", KINDS[kind](many))
    todo = parts(list_sources([f"{tmp_path}/*"]).sources)
    alone = [heard for part in todo for heard in scan_part(part, WORDS)]
    together = list(scanned_by(3, todo, WORDS))
    assert len(together) == len(KINDS) * 10
    assert sorted(together, key=lambda one: (one.part.path, one.part.member)) == sorted(
        alone, key=lambda one: (one.part.path, one.part.member)
    )


def test_archives_in_a_folder_are_read_only_when_they_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "old.tar.gz", tar_of({"a.log": log_text()}, "w:gz"))
    log = written(tmp_path / "b.log", log_text())
    reading = found_in(tmp_path)
    assert told(reading) == [f"{log}:51"]
    assert reading.unknown == (f"archives in a folder are read only when they are named: {path}",)


def diagnosed(*arguments: str | Path, given: bytes = b"") -> "subprocess.CompletedProcess[str]":
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", "diagnose", *map(str, arguments)],
        input=given,
        capture_output=True,
        check=False,
        timeout=WAIT_S,
    )
    return subprocess.CompletedProcess(
        ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode()
    )


def test_the_command_reads_archives_and_shows_where_it_read(tmp_path: Path) -> None:
    said = (
        b"2026-11-15 10:00:00.000000: E train.py:1] OSError: [Errno 28] No space left on device\n"
    )
    files = {"job/ps-0.err": said, "job/worker-0.err": log_text()}
    by_zip = diagnosed(written(tmp_path / "logs.zip", zip_of(files)))
    assert by_zip.returncode == 1
    assert by_zip.stdout.startswith("error[disk-full]: ps:0 says: ")
    assert "ps-0.err:1" in by_zip.stdout
    as_json = diagnosed("--format", "json", tmp_path / "logs.zip")
    assert f"{tmp_path}/logs.zip!/job/ps-0.err" in as_json.stdout
    by_pipe = diagnosed("-", given=tar_of(files, "w:gz"))
    assert by_pipe.stdout.startswith("error[disk-full]: ps:0 says: ")
    refused = diagnosed("-", given=zip_of(files))
    assert refused.returncode == 66
    assert "cannot be read from a pipe: name a file" in refused.stderr
