"""The guard stops a second writer before damage, and touches nothing else."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from holdfast.rows import guard, lease
from holdfast.rows.errors import Held

ALONE = Path(guard.__file__)
WRITER = """
import sys
import h5py
from holdfast.rows import guard
guard.install("worker:7")
file = h5py.File(sys.argv[1], "a")
print("open", flush=True)
sys.stdin.readline()
"""
# As many programs do it: four processes, one file, locking switched off because it was in the way.
CARELESS = """
import importlib.util, os, sys
import numpy as np, h5py
path, me, guarded = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if guarded:
    spec = importlib.util.spec_from_file_location("alone", guarded)
    alone = importlib.util.module_from_spec(spec)
    sys.modules["alone"] = alone
    spec.loader.exec_module(alone)
    alone.install("worker:%d" % me)
print("ready", flush=True)
sys.stdin.readline()
try:
    file = h5py.File(path, "a", locking=False)
except OSError as error:
    print("stopped:", error, flush=True)
    sys.stdin.readline()
    sys.exit(3)
rows = file.create_dataset("worker-%d" % me, (0, 100), "f4", maxshape=(None, 100), chunks=(8, 100))
print("open", flush=True)
sys.stdin.readline()
for step in range(200):
    rows.resize(rows.shape[0] + 8, axis=0)
    rows[-8:] = np.full((8, 100), me * 1000 + step, "f4")
    file.flush()
file.close()
"""
# Says whose rows are as they were written.
CHECK = """
import sys
import numpy as np, h5py
with h5py.File(sys.argv[1], "r") as file:
    for me in range(4):
        try:
            rows = file["worker-%d" % me][:]
        except (OSError, KeyError, RuntimeError):
            continue
        wanted = np.repeat(np.arange(200, dtype="f4") + me * 1000, 8)
        if rows.shape == (1600, 100) and (rows == wanted[:, None]).all():
            print(me, "is right", flush=True)
"""


@pytest.fixture
def guarded() -> Iterator[None]:
    guard.install("worker:0")
    yield
    guard.uninstall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "all.h5"
    with h5py.File(path, "w") as file:
        file["rows"] = np.arange(1000.0)
    return path


def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE", "OPENBLAS_NUM_THREADS": "1"},
        text=True,
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def go_on(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("by", ["name", "symbolic link", "hard link", "other folder"])
@pytest.mark.parametrize("mode", ["r+", "a", "w"])
def test_a_second_writer_is_stopped_and_told_who_is_the_first(
    path: Path, mode: str, by: str
) -> None:
    other = path
    if by == "symbolic link":
        other = path.with_name("link.h5")
        other.symlink_to(path.name)
    elif by == "hard link":
        other = path.with_name("hard.h5")
        os.link(path, other)
    elif by == "other folder":
        (path.parent / "folder").mkdir()
        other = path.parent / "folder" / ".." / path.name
    with h5py.File(path, "a"):
        before = path.read_bytes()
        with pytest.raises(Held) as told:
            h5py.File(other, mode)
        assert isinstance(told.value, BlockingIOError)
        assert (told.value.pid, told.value.task) == (os.getpid(), "worker:0")
        assert path.read_bytes() == before
    with h5py.File(other, "r+") as again:
        assert again["rows"][999] == 999


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("by", ["name", "hard link"])
def test_another_process_is_named_and_its_death_frees_the_file(path: Path, by: str) -> None:
    other = path
    if by == "hard link":
        other = path.with_name("hard.h5")
        os.link(path, other)
    with start(WRITER, path) as process:
        assert said(process) == "open\n"
        for mode in ("a", "w"):
            with pytest.raises(Held) as told:
                h5py.File(other, mode)
            assert (told.value.pid, told.value.task) == (process.pid, "worker:7")
        process.kill()
    with h5py.File(other, "a") as file:
        assert file["rows"].shape == (1000,)


@pytest.mark.usefixtures("guarded")
def test_reading_is_not_touched(path: Path) -> None:
    with h5py.File(path, "r") as one, h5py.File(path, "r") as two, h5py.File(path) as three:
        assert one["rows"][0] == two["rows"][0] == three["rows"][0] == 0
    assert {entry.name for entry in path.parent.iterdir()} == {path.name}


@pytest.mark.usefixtures("guarded")
def test_what_is_closed_in_any_way_is_free_again(path: Path) -> None:
    file = h5py.File(path, "a")
    rows = file["rows"]
    del file
    with pytest.raises(Held):  # the dataset keeps it open
        h5py.File(path, "a")
    del rows
    with h5py.File(path, "a"):
        pass
    h5py.File(path, "a").close()
    h5py.File(path, "w").close()
    assert {entry.name for entry in path.parent.iterdir()} == {path.name}


@pytest.mark.usefixtures("guarded")
def test_h5pys_own_errors_stay_as_they_are(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileExistsError):
        h5py.File(path, "x")
    with pytest.raises(FileNotFoundError):
        h5py.File(tmp_path / "none.h5", "r+")
    with pytest.raises(FileNotFoundError):
        h5py.File(tmp_path / "none" / "none.h5", "w")
    with pytest.raises(ValueError, match="mode"):
        h5py.File(path, "q")
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(OSError, match="signature"):
        h5py.File(tmp_path / "text.h5", "r+")
    assert lease.owner_of(tmp_path / "text.h5") is None


@pytest.mark.usefixtures("guarded")
def test_files_in_memory_and_replaced_files_are_free(path: Path) -> None:
    with h5py.File(io.BytesIO(), "w") as one, h5py.File(io.BytesIO(), "w") as two:
        one["a"] = two["a"] = 1
    with h5py.File(path, "a"):
        fresh = path.with_name("fresh.h5")
        with h5py.File(fresh, "w") as file:
            file["new"] = 1
        fresh.replace(path)
        with h5py.File(path, "a") as file:  # another file by now
            assert "new" in file


def test_uninstall_gives_h5py_back(path: Path) -> None:
    before = h5py.File.__init__, h5py.File.close, h5py.File.flush
    guard.install()
    guard.install()
    assert h5py.File.__init__ is not before[0]
    guard.uninstall()
    assert (h5py.File.__init__, h5py.File.close, h5py.File.flush) == before
    with h5py.File(path, "a"), h5py.File(path, "a"):  # h5py allows it in one process
        pass


@pytest.mark.usefixtures("guarded")
def test_a_process_without_the_guard_is_seen_through_a_hard_link(path: Path) -> None:
    code = WRITER.replace('guard.install("worker:7")', "")
    os.link(path, path.with_name("hard.h5"))
    with start(code, path) as process:
        assert said(process) == "open\n"
        with pytest.raises(Held) as told:
            h5py.File(path.with_name("hard.h5"), "w")
        assert told.value.pid == process.pid
        process.kill()


def test_it_can_wait_until_h5py_is_imported(path: Path) -> None:
    code = (
        WRITER.replace("import h5py\n", "", 1)
        .replace('guard.install("worker:7")', 'guard.install_on_import("worker:7")')
        .replace("file = ", 'assert "h5py" not in sys.modules\nimport h5py\nfile = ')
        + "try:\n    h5py.File(sys.argv[1], 'w')\nexcept OSError as error:\n    print(error)\n"
    )
    with start(code, path) as process:
        assert said(process) == "open\n"
        go_on(process)
        assert "is held for writing by worker:7" in said(process)


def four_writers(path: Path, alone: str) -> tuple[list[str], list[int]]:
    """What each said after opening one file in mode 'a', and what is wrong with the file then."""
    processes = [start(CARELESS, path, me, alone) for me in range(4)]
    for process in processes:
        assert said(process) == "ready\n"
    for process in processes:
        go_on(process)
    answers = [said(process) for process in processes]
    for process in processes:
        process.communicate("\n")
    # In a process of its own: reading a damaged file can end the one who reads.
    checked = subprocess.run(
        [sys.executable, "-c", CHECK, str(path)], capture_output=True, text=True, check=False
    )
    wrong = [
        me for me in range(4) if answers[me] == "open\n" and f"{me} is right" not in checked.stdout
    ]
    return answers, wrong


def test_four_careless_writers_damage_their_file(path: Path) -> None:
    answers, wrong = four_writers(path, "")
    assert answers == ["open\n"] * 4
    assert wrong


def test_with_the_guard_one_writes_and_three_are_stopped(path: Path) -> None:
    """Loaded by its path alone, as in a task where Holdfast is not installed."""
    answers, wrong = four_writers(path, str(ALONE))
    assert sum(answer == "open\n" for answer in answers) == 1
    assert sum("is held for writing by worker:" in answer for answer in answers) == 3
    assert wrong == []
