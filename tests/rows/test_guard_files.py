"""Files under the guard: many at once, renamed, removed, in threads, left open at the end."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest
from tests.rows.puppet import Puppet

from holdfast.rows import guard, guarded_files, lease, lease_record
from holdfast.rows.errors import Held

# Opened and closed as fast as it goes, by several at once; what was written is told.
BUSY = """
import sys
import h5py
from holdfast.rows import guard
path, me, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
guard.install("worker:" + me)
for step in range(times):
    try:
        with h5py.File(path, "a") as file:
            file.create_dataset(f"{me}.{step}", data=[float(step)] * 64)
    except BlockingIOError:
        continue
    print(f"{me}.{step}", flush=True)
"""


@pytest.fixture
def _guarded() -> Iterator[None]:
    guard.install("worker:0")
    yield
    guard.uninstall()


def others_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} - {"all.h5"}


@pytest.mark.parametrize("locking", ["FALSE", "TRUE"])
def test_many_who_open_and_close_one_file_all_the_time_do_not_damage_it(
    path: Path, locking: str
) -> None:
    env = {**os.environ, "HDF5_USE_FILE_LOCKING": locking, "OPENBLAS_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY, str(path), str(me), "60"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for me in range(4)
    ]
    told = [process.communicate() for process in processes]
    assert [why for _, why in told] == [""] * 4
    written = [name for names, _ in told for name in names.split()]
    assert written
    with h5py.File(path, "r") as file:
        assert set(file) == {"rows", *written}
        for name in written:
            assert (file[name][:] == float(name.partition(".")[2])).all()
    assert others_in(path.parent) == set()


@pytest.mark.usefixtures("_guarded")
def test_the_second_writer_hears_who_since_when_and_what_to_do(path: Path, other: Puppet) -> None:
    other.open(path)
    with pytest.raises(Held) as told:
        h5py.File(path, "a")
    words = str(told.value)
    assert f"{path} is held for writing by worker:7 (pid {other.pid} on " in words
    assert f"since {time.strftime('%Y-')}" in words
    assert words.endswith("or try again when that process has closed it or is gone")
    assert isinstance(told.value, BlockingIOError)
    assert told.value.errno == 11


@pytest.mark.usefixtures("_guarded")
@pytest.mark.parametrize("mode", ["r+", "a", "w"])
def test_a_file_that_was_renamed_still_has_its_writer(path: Path, other: Puppet, mode: str) -> None:
    other.open(path)
    moved = path.with_name("moved.h5")
    path.rename(moved)
    before = moved.read_bytes()
    with pytest.raises(Held) as told:
        h5py.File(moved, mode)
    assert (told.value.pid, told.value.task) == (other.pid, "worker:7")
    assert moved.read_bytes() == before
    with h5py.File(path, "w") as file:  # another file by now
        file["new"] = 1
    assert other.do("f['more'] = [1, 2, 3]; f.close()") == ""
    with h5py.File(moved, "a") as file:
        assert set(file) == {"rows", "more"}
    assert others_in(path.parent) == {"moved.h5"}


@pytest.mark.usefixtures("_guarded")
def test_who_writes_a_removed_file_does_not_end_the_lease_of_the_next(
    path: Path, other: Puppet
) -> None:
    other.open(path)
    path.unlink()
    with h5py.File(path, "a") as file:
        assert other.do("f['more'] = 1; f.close()") == ""
        with Puppet("worker:8") as third:
            assert third.open(path, "w").startswith("HeldFile")
            assert "by worker:0" in third.open(path)
        file["new"] = 1
    with h5py.File(path, "r") as file:
        assert list(file) == ["new"]


@pytest.mark.usefixtures("_guarded")
def test_a_writer_is_known_though_somebody_removed_its_side_file(path: Path, other: Puppet) -> None:
    other.open(path)
    Path(lease.side_file_of(path)).unlink()
    with pytest.raises(Held) as told:
        h5py.File(path, "w")
    assert told.value.pid == other.pid
    assert other.do("f['more'] = 1; f.close()") == ""
    with h5py.File(path, "a") as file:
        assert "more" in file


@pytest.mark.usefixtures("_guarded")
def test_a_file_that_is_made_while_another_one_is_about_to_make_it_is_not_emptied(
    tmp_path: Path, other: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.h5"
    whole = lease.take

    def late(*asked: Any, **named: Any) -> lease.Lease:
        assert other.do(f"f = h5py.File({str(path)!r}, 'a'); f['theirs'] = 1; f.flush()") == ""
        return whole(*asked, **named)

    monkeypatch.setattr(guarded_files, "take", late)
    with pytest.raises(Held, match="by worker:7"):
        h5py.File(path, "w")
    assert other.do("f.close()") == ""
    with h5py.File(path, "r") as file:
        assert list(file) == ["theirs"]


@pytest.mark.usefixtures("_guarded")
def test_where_no_side_file_can_be_made_the_file_itself_is_guarded(
    tmp_path: Path, other: Puppet
) -> None:
    path = tmp_path / ("x" * 240 + ".h5")  # too long for a longer one
    other.open(path, "w")
    with pytest.raises(Held) as told:
        h5py.File(path, "a")
    assert told.value.pid == other.pid
    other.kill()
    with h5py.File(path, "w") as file:
        file["mine"] = 1
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.usefixtures("_guarded")
def test_a_writer_on_another_host_is_respected_while_its_file_has_the_name(path: Path) -> None:
    side_file = Path(lease.side_file_of(path))
    record = json.loads(lease_record.record_of(lease_record.myself("worker:3", token=1, term_s=60)))
    there = {"host": "host-b", "boot": "another", "pid_space": "another", "pid": 1}
    for inode, until_s, is_held in (
        (0, time.time() + 60, True),
        (path.stat().st_ino, time.time() + 60, True),
        (path.stat().st_ino + 1, time.time() + 60, False),
        (path.stat().st_ino, time.time() - lease_record.CLOCKS_APART_S - 1, False),
    ):
        said = {**record, **there, "inode": inode, "until_s": until_s}
        side_file.write_text(json.dumps(said))
        if is_held:
            with pytest.raises(Held, match=r"worker:3 \(pid 1 on host-b\)") as told:
                h5py.File(path, "w")
            assert told.value.do.endswith(f"if that host is gone, remove {side_file}")
            assert json.loads(side_file.read_bytes()) == said
        else:
            with h5py.File(path, "a") as file:
                assert "rows" in file


@pytest.mark.usefixtures("_guarded")
@pytest.mark.parametrize("at", ["opened", "written", "flushed", "closed"])
def test_a_killed_writer_is_followed_at_once(path: Path, other: Puppet, at: str) -> None:
    other.open(path)
    acts = {"written": "f['more'] = 1", "flushed": "f.flush()", "closed": "f.close()"}
    for act in acts.values() if at == "closed" else [acts.get(at, "")]:
        other.do(act)
    other.kill()
    with h5py.File(path, "a") as file:
        assert "rows" in file
        file["mine"] = 1
    assert others_in(path.parent) == set()


def test_many_files_are_open_at_once_each_with_one_writer(tmp_path: Path, other: Puppet) -> None:
    code = f"files = [h5py.File({str(tmp_path)!r} + '/%d.h5' % i, 'w') for i in range(100)]"
    assert other.do(code) == ""
    with Puppet("worker:8") as third:
        for i in (0, 50, 99):
            assert "by worker:7" in third.open(tmp_path / f"{i}.h5")
        assert other.do("for file in files[::2]: file.close()") == ""
        assert third.open(tmp_path / "50.h5") == ""
        assert "by worker:7" in third.open(tmp_path / "51.h5")
    # Its own fifty, and one of the third, which was killed.
    assert len(list(tmp_path.glob(".*lease"))) == 51


@pytest.mark.usefixtures("_guarded")
def test_one_process_may_read_what_it_writes_and_write_it_once(path: Path) -> None:
    writes = h5py.File(path, "a")
    reads = h5py.File(path, "r")
    with pytest.raises(Held, match="that is this very process"):
        h5py.File(path, "r+")
    writes["more"] = 1
    assert reads["more"][()] == 1
    writes.close()
    with Puppet("worker:8") as third:
        assert "by worker:0" in third.open(path)  # HDF5 has one descriptor for both
        reads.close()
        assert third.open(path) == ""
        with h5py.File(path, "r", locking=False) as beside:
            assert set(beside) == {"rows", "more"}
        with pytest.raises(FileExistsError):
            h5py.File(path, "x")
        with pytest.raises(Held):
            h5py.File(path, "w")


@pytest.mark.usefixtures("_guarded")
def test_threads_open_many_files_and_each_has_one_writer_at_a_time(tmp_path: Path) -> None:
    wrong: list[str] = []
    writing: set[str] = set()

    def write(me: int) -> None:
        for step in range(40):
            name = f"{(me + step) % 3}.h5"
            try:
                with h5py.File(tmp_path / name, "a") as file:
                    if name in writing:
                        wrong.append(name)
                    writing.add(name)
                    file.attrs[f"{me}.{step}"] = step
                    writing.discard(name)
            except Held:
                pass

    threads = [threading.Thread(target=write, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert not list(tmp_path.glob(".*lease"))
    assert guarded_files._files == []


def test_a_file_left_open_is_not_free_before_hdf5_has_written_it(path: Path) -> None:
    with Puppet("worker:7") as other:
        other.open(path)
        other.do("f['late'] = list(range(1000))")
        seen = "import atexit; keep = lambda: os.rename(SIDE, SIDE + '.kept')"
        other.do(f"SIDE = {lease.side_file_of(path)!r}; {seen}")
        # Runs after the guard's own: the lease is still there, for other hosts a minute long.
        other.do("atexit.unregister(guard._at_exit); atexit.register(keep)")
        other.do("atexit.register(guard._at_exit)")
        other.end()
    kept = json.loads(Path(lease.side_file_of(path) + ".kept").read_bytes())
    assert 0 < kept["until_s"] <= time.time() + guarded_files.EXIT_S
    with h5py.File(path, "r") as file:
        assert file["late"].shape == (1000,)


def test_both_doors_in_one_process_are_one_guard(path: Path) -> None:
    with Puppet("") as other:
        alone = (
            "import importlib.util, sys\n"
            f"spec = importlib.util.spec_from_file_location('alone', {guard.__file__!r})\n"
            "alone = importlib.util.module_from_spec(spec)\n"
            "sys.modules['alone'] = alone\n"
            "spec.loader.exec_module(alone)\n"
            "alone.install('first')\n"
            "guard.install('worker:7')\n"
        )
        assert other.do(alone) == ""
        assert other.open(path) == ""
        assert "by worker:7" in other.open(path, name="g")
        assert other.do("guard.uninstall()") == ""
        assert other.open(path, name="g") == ""


@pytest.mark.usefixtures("_guarded")
def test_what_is_only_in_memory_is_not_guarded(path: Path) -> None:
    with (
        h5py.File(path, "r+", driver="core", backing_store=False) as one,
        h5py.File(path, "r+", locking=False) as two,
    ):
        assert one["rows"].shape == two["rows"].shape
    with h5py.File(path, "a", driver="core"), pytest.raises(Held):
        h5py.File(path, "a")
    with h5py.File(path, "a", driver="stdio"), pytest.raises(Held):
        h5py.File(path, "a")
    assert others_in(path.parent) == set()


def test_an_open_that_is_interrupted_leaves_nothing_held(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = h5py.File.__init__
    kept: list[object] = []

    def interrupted(self: h5py.File, *asked: object, **named: object) -> None:
        whole(self, *asked, **named)
        kept.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(h5py.File, "__init__", interrupted)
    guard.install("worker:0")
    try:
        with pytest.raises(KeyboardInterrupt):
            h5py.File(path, "a")
        with pytest.raises(Held):  # it is open, though nobody was told
            h5py.File(path, "a")
        kept.clear()
        with pytest.raises(KeyboardInterrupt):
            h5py.File(path, "a")
        kept.clear()
    finally:
        guard.uninstall()
    assert others_in(path.parent) == set()
