"""Files of which two writers are a fault: which they are, who locks them, and what is heard."""

import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.probes import open_files
from holdfast.probes.guarded import is_guarded
from holdfast.probes.inotify import CLOSED, FOLDER, MADE, OPENED, Inotify
from holdfast.probes.likely_folders import BELOW_MAX, folders_below, named_folders
from holdfast.probes.written_files import (
    WrittenFile,
    folder_written,
    is_worth_a_look,
    seen_again,
    written_files,
)


def open_here() -> list[WrittenFile]:
    return list(written_files(os.getpid(), open_files(os.getpid())))


@pytest.mark.parametrize(
    ("name", "what", "folder"),
    [
        ("events.out.tfevents.1.host.7.0.v2", "summaries", "/data"),
        (
            "ckpt-3_temp/part-00000-of-00001.data-00000-of-00001.tempstate1",
            "checkpoints",
            "/data",
        ),
        ("m.ckpt-3_temp_0af9/part-00000-of-00001.index", "checkpoints", "/data"),
        ("model.ckpt-3.data-00000-of-00001.tempstate17", "checkpoints", "/data"),
        ("events.out.tfevents.1.host.profile-empty", "", ""),
        ("events.out.tfevents.1.host (deleted)", "", ""),
        ("ckpt-3_temp/part-00001-of-00002.data-00000-of-00001", "", ""),
        ("ckpt-3.data-00000-of-00001", "", ""),
        ("notes.txt", "", ""),
    ],
)
def test_a_folder_counts_as_written_by_who_takes_itself_for_its_only_writer(
    name: str, what: str, folder: str
) -> None:
    assert folder_written(f"/data/{name}") == (what, folder)


def test_only_files_open_for_writing_are_seen(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "all.h5"
    path.touch()
    with path.open("rb"):
        assert open_here() == []
    with path.open("r+b"), (tmp_path / "notes.txt").open("wb"):
        (seen,) = open_here()
        assert (seen.path, seen.is_hdf5, seen.locked) == (str(path), True, False)
        assert seen.inode in {0, path.stat().st_ino}
    assert seen_again(seen.pid, seen.descriptor, seen.path) is None


def test_a_lock_of_the_writer_is_seen(tmp_path: Path) -> None:
    with (tmp_path / "all.hdf5").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert [seen.locked for seen in open_here()] == [True]
        fcntl.flock(file, fcntl.LOCK_UN)
        assert [seen.locked for seen in open_here()] == [False]


@pytest.mark.parametrize("name", ["a.h5", "A.HDF5", "ckpt-3_temp", "m.data.tempstate12"])
def test_what_may_be_one_of_these_files_is_worth_a_look(name: str) -> None:
    assert is_worth_a_look(name)


@pytest.mark.parametrize("name", ["a.h5.lock", "checkpoint", "train.log", "temp", "h5"])
def test_what_cannot_be_one_is_not(name: str) -> None:
    assert not is_worth_a_look(name)


def test_each_watch_hears_one_event_however_many_there_are(tmp_path: Path) -> None:
    ears = Inotify()
    try:
        watch = ears.watch_once(str(tmp_path), MADE | CLOSED)
        assert ears.hear() == []
        for number in range(1_000):
            (tmp_path / f"{number}").touch()
        (heard,) = ears.hear()
        assert (heard.watch, heard.mask, heard.name) == (watch, MADE, "0")
        assert ears.watch_once(str(tmp_path), MADE) > watch
        (tmp_path / "below").mkdir()
        assert [(one.mask, one.name) for one in ears.hear()] == [(MADE | FOLDER, "below")]
        ears.watch_once(str(tmp_path / "0"), OPENED)
        (tmp_path / "0").read_bytes()
        assert [(one.mask, one.name) for one in ears.hear()] == [(OPENED, "")]
        ears.forget(ears.watch_once(str(tmp_path), MADE))
        (tmp_path / "unheard").touch()
        assert ears.hear() == []
        assert ears.watch_once(str(tmp_path / "not there"), MADE) == -1
    finally:
        ears.close()


def test_a_program_may_write_where_it_works_and_what_it_names(tmp_path: Path) -> None:
    assert named_folders(os.getpid())[0] == str(Path.cwd())
    assert named_folders(2**22 + 1) == []
    home = tmp_path.resolve()
    (home / "logs/deep/deeper/too_deep").mkdir(parents=True)
    (home / ".git").mkdir()
    (home / "link").symlink_to(home / "logs")
    found = [home, home / "logs", home / "logs/deep", home / "logs/deep/deeper"]
    assert folders_below(str(home)) == [str(path) for path in found]
    for number in range(BELOW_MAX):
        (home / f"{number}").mkdir()
    assert len(folders_below(str(home))) == BELOW_MAX


def test_who_was_started_with_the_guard_is_known() -> None:
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "HOLDFAST_GUARD_HDF5": "1"}) as one:
        try:
            until_s = time.monotonic() + 10
            while not is_guarded(one.pid) and time.monotonic() < until_s:
                pass  # its environment is there a moment after its process
            assert is_guarded(one.pid)
        finally:
            one.kill()
    assert not is_guarded(os.getpid())
    assert not is_guarded(2**22 + 1)
