"""What directories can do, tried on real file systems, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest

from holdfast.model.facts import ClockMeasured, DiskMeasured, Fact, FolderMeasured, ProbeBlind
from holdfast.probes import folder_trial
from holdfast.probes.clock import kernel_is_synchronised, measure_clock
from holdfast.probes.folders import measure_folder

WHERE = {"at_s": 0.5, "host": "host-a"}
TRIAL = str(Path(folder_trial.__file__))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def facts_at(path: Path, purpose: str = "checkpoints") -> list[Fact]:
    return list(measure_folder(str(path), purpose, WHERE))


def folder_at(path: Path) -> FolderMeasured:
    return next(fact for fact in facts_at(path) if isinstance(fact, FolderMeasured))


@contextmanager
def mounted(point: Path, *arguments: str) -> Iterator[Path]:
    point.mkdir()
    done = subprocess.run(["mount", *arguments, str(point)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this host does not mount: {done.stderr.decode().strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)


def test_a_directory_that_can_do_everything_leaves_nothing_behind(tmp_path: Path) -> None:
    disk, folder = facts_at(tmp_path)
    assert isinstance(disk, DiskMeasured)
    assert isinstance(folder, FolderMeasured)
    assert 0 < disk.free_bytes <= disk.total_bytes
    assert (disk.purpose, disk.host, disk.at_s) == ("checkpoints", "host-a", 0.5)
    assert (folder.write, folder.locks, folder.append) == ("works", "works", "works")
    assert folder.filesystem
    assert list(tmp_path.iterdir()) == []


def test_before_a_directory_is_there_the_one_above_it_is_tried(tmp_path: Path) -> None:
    disk, folder = facts_at(tmp_path / "runs" / "1")
    assert isinstance(disk, DiskMeasured)
    assert isinstance(folder, FolderMeasured)
    assert disk.path == str(tmp_path)
    assert folder.path == str(tmp_path / "runs" / "1")
    assert folder.write == "works"
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert folder_at(file).write == "Not a directory"
    assert folder_at(file / "below").write == f"Not a directory ({file})"
    assert file.read_text() == "mine"


def test_a_link_that_leads_nowhere_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    facts = facts_at(tmp_path / "link")
    assert not any(isinstance(fact, FolderMeasured) and fact.write == "works" for fact in facts)
    assert any(isinstance(fact, ProbeBlind) for fact in facts)


def test_a_path_of_another_system_is_not_looked_at() -> None:
    (blind,) = measure_folder("gs://bucket/run", "checkpoints", WHERE)
    assert isinstance(blind, ProbeBlind)
    assert "not a path of this host" in blind.why


@as_root
def test_a_read_only_file_system_says_so(tmp_path: Path) -> None:
    with mounted(tmp_path / "ro", "-t", "tmpfs", "-o", "ro", "tmpfs") as point:
        folder = folder_at(point / "ckpt")
    assert folder.write == f"Read-only file system ({point})"
    assert folder.filesystem == "tmpfs"
    assert (folder.locks, folder.append) == ("", "")


@as_root
def test_a_directory_of_somebody_else_says_so(tmp_path: Path) -> None:
    if which("setpriv") is None:
        pytest.skip("setpriv is not there, and root may write everywhere")
    tmp_path.chmod(0o500)
    os.chown(tmp_path, 65_534, 65_534)
    drop = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    command = (*drop, sys.executable, "-I", "-S", TRIAL, "folder", str(tmp_path))
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert '{"write": "Permission denied"}' in said


@as_root
def test_a_full_file_system_says_so(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=64k", "tmpfs") as point:
        (point / "fill").write_bytes(bytes(64 * 1024))
        disk, folder = facts_at(point)
    assert isinstance(disk, DiskMeasured)
    assert isinstance(folder, FolderMeasured)
    assert disk.free_bytes == 0
    assert folder.write == "No space left on device"


@as_root
def test_a_file_system_without_unnamed_files_is_tried_with_a_named_one(tmp_path: Path) -> None:
    with mounted(tmp_path / "ram", "-t", "ramfs", "ramfs") as point:
        folder = folder_at(point)
        assert list(point.iterdir()) == []
    assert (folder.write, folder.locks, folder.append) == ("works", "works", "works")


@as_root
def test_a_file_system_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    """A frozen file system keeps whoever writes in a sleep that not even SIGKILL ends."""
    if not (which("mkfs.ext4") and which("fsfreeze")):
        pytest.skip("mkfs.ext4 and fsfreeze are not there")
    image = tmp_path / "image"
    image.write_bytes(b"")
    os.truncate(image, 16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with mounted(tmp_path / "frozen", "-o", "loop", str(image)) as point:
        subprocess.run(["fsfreeze", "--freeze", str(point)], check=True)
        try:
            began_s = time.monotonic()
            facts = facts_at(point)
            folder_s = time.monotonic() - began_s
            clock = measure_clock(WHERE, str(point))
            clock_s = time.monotonic() - began_s - folder_s
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", str(point)], check=True)
    assert folder_s < 5
    assert clock_s < 4
    blind = facts[-1]
    assert isinstance(blind, ProbeBlind)
    assert blind.why == "no answer within 2 s: the file system may hang"
    assert [fact.write for fact in facts if isinstance(fact, FolderMeasured)] == [""]
    assert clock.against == ""


def test_nothing_is_left_behind_by_a_trial_that_is_killed(tmp_path: Path) -> None:
    for _ in range(5):
        command = (sys.executable, "-I", "-S", TRIAL, "folder", str(tmp_path))
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as trial:
            assert trial.stdout is not None
            trial.stdout.readline()
            os.killpg(trial.pid, signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []


def test_a_local_clock_agrees_with_itself(tmp_path: Path) -> None:
    clock = measure_clock(WHERE, str(tmp_path))
    assert isinstance(clock, ClockMeasured)
    assert clock.against
    assert abs(clock.offset_s) <= clock.error_s < 1.5
    assert list(tmp_path.iterdir()) == []


def test_without_a_shared_directory_only_the_kernel_is_asked() -> None:
    clock = measure_clock(WHERE)
    assert clock.against == ""
    assert clock.synchronised is kernel_is_synchronised()
