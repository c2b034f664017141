"""A lease has one owner, and a dead one is followed at once."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.rows import lease, lease_record
from holdfast.rows.errors import Held
from holdfast.rows.lock_test import _only_here, locks_work

THREADED = """
import os, sys, threading
from holdfast.rows import lease
held = lease.take(sys.argv[1], task="worker:7")
def stay():
    print(os.getpid(), flush=True)
    sys.stdin.read()
threading.Thread(target=stay).start()
import ctypes
ctypes.CDLL(None).pthread_exit(None)
"""
TAKE = """
import sys
from holdfast.rows import lease, lease_record
held = lease.take(sys.argv[1], task="worker:7", stays=True)
print(held.token, flush=True)
sys.stdin.read()
"""


def another(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", TAKE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def token_of(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_a_second_owner_hears_who_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    with another(path) as process:
        assert token_of(process) == 1
        with pytest.raises(Held) as told:
            lease.take(path, task="worker:0")
        assert (told.value.pid, told.value.task) == (process.pid, "worker:7")
        assert "worker:7" in str(told.value)
        assert told.value.since
        process.kill()


def test_a_dead_owner_is_followed_with_a_higher_token(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    with another(path) as process:
        first = token_of(process)
        process.kill()
    mine = lease.take(path, task="worker:0")
    assert mine.token == first + 1
    assert mine.is_ours()
    mine.release()
    assert not mine.is_ours()
    assert lease.take(path, task="worker:1").token == first + 2


def test_an_owner_lives_as_long_as_one_of_its_threads(tmp_path: Path) -> None:
    """Its first thread is over, and it looks like what is left of a dead process."""
    path = tmp_path / "all.h5"
    process = subprocess.Popen(
        [sys.executable, "-c", THREADED, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        pid = token_of(process)
        stat = Path(f"/proc/{pid}/stat")
        until_s = time.monotonic() + 30
        while ") Z " not in stat.read_text() and time.monotonic() < until_s:
            time.sleep(0.01)
        assert ") Z " in stat.read_text()
        with pytest.raises(Held, match="worker:7"):
            lease.take(path, task="worker:0")
        process.kill()
    assert lease.take(path, task="worker:0").token == 2


def test_the_token_goes_on_from_what_the_file_itself_knows(tmp_path: Path) -> None:
    assert lease.take(tmp_path / "all.h5", task="worker:0", token_min=41).token == 42


def test_a_symbolic_link_leads_to_the_same_lease(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    path.touch()
    (tmp_path / "also.h5").symlink_to(path)
    with lease.take(path, task="worker:0"), pytest.raises(Held):
        lease.take(tmp_path / "also.h5", task="worker:1")


def from_elsewhere(path: Path, *, until_s: float) -> None:
    """As another host leaves it."""
    with lease.take(path, task="worker:3") as taken:
        side_file = Path(taken.side_file)
        record = json.loads(side_file.read_bytes())
    there = {"host": "host-b", "boot": "another", "pid_space": "another", "until_s": until_s}
    side_file.write_text(json.dumps({**record, **there}))


def test_an_owner_on_another_host_is_respected_until_its_time_has_run_out(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    from_elsewhere(path, until_s=time.time() + 1)
    with pytest.raises(Held, match=r"worker:3 \(pid \d+ on host-b\)") as told:
        lease.take(path, task="worker:0")
    assert "holdfast-lease" in told.value.do
    from_elsewhere(tmp_path / "old.h5", until_s=time.time() - lease_record.CLOCKS_APART_S - 1)
    assert lease.take(tmp_path / "old.h5", task="worker:0").token == 2


def test_an_owner_that_was_followed_notices(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    mine = lease.take(path, task="worker:0")
    record = json.loads(Path(mine.side_file).read_bytes())
    Path(mine.side_file).write_text(json.dumps({**record, "token": 9}))
    assert not mine.is_ours()
    with pytest.raises(Held):
        mine.renew()
    mine.release()
    assert json.loads(Path(mine.side_file).read_bytes())["token"] == 9


@pytest.mark.parametrize("stays", [True, False])
def test_a_late_release_ends_nobody_elses_lease(tmp_path: Path, *, stays: bool) -> None:
    """The first was followed, as it had closed its file, before it came to let go."""
    path = tmp_path / "all.h5"

    def take(task: str) -> lease.Lease:
        return lease.take(path, task=task, stays=stays, counts=lambda owner: False)

    first, second = take("worker:0"), take("worker:1")
    second.release()
    third = lease.take(path, task="worker:2", stays=stays)
    first.release()
    second.release()
    assert third.is_ours()
    assert len({first.token, second.token, third.token}) == 3
    with pytest.raises(Held, match="worker:2"):
        lease.take(path, task="worker:3", stays=stays)


def test_tokens_grow_also_when_the_side_file_was_removed(tmp_path: Path) -> None:
    path, tokens = tmp_path / "all.h5", []
    for _ in range(20):
        with lease.take(path, task="worker:0", stays=False) as taken:
            tokens.append(taken.token)
        assert not Path(taken.side_file).exists()
    assert tokens == sorted(set(tokens))


def test_who_finds_the_count_begun_anew_is_not_taken_for_another(tmp_path: Path) -> None:
    """Somebody removes the side file, and another one comes to the same token."""
    path = tmp_path / "all.h5"
    lost = lease.take(path, task="worker:0")
    Path(lost.side_file).unlink()
    mine = lease.take(path, task="worker:1")
    assert mine.token == lost.token
    assert not lost.is_ours()
    lost.release()
    with pytest.raises(Held, match="worker:1"), lost.only_us():
        pass
    assert mine.is_ours()


def test_a_forked_child_has_no_lease(tmp_path: Path) -> None:
    mine = lease.take(tmp_path / "all.h5", task="worker:0")
    child = os.fork()
    if not child:
        mine.release()
        os._exit(mine.is_ours())
    assert os.waitpid(child, 0)[1] == 0
    assert mine.is_ours()


@pytest.mark.parametrize(
    ("kept", "made"), [(0o640, 0o640), (0o664, 0o664), (0o444, 0o644), (None, 0o644)]
)
def test_who_may_write_the_file_may_write_its_side_file(
    tmp_path: Path, kept: int | None, made: int
) -> None:
    path = tmp_path / "all.h5"
    if kept is not None:
        path.touch()
        path.chmod(kept)
    before = os.umask(0o022)
    try:
        taken = lease.take(path, task="worker:0")
    finally:
        os.umask(before)
    assert Path(taken.side_file).stat().st_mode & 0o777 == made


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"host": 1}', "\0" * 4096])
def test_a_torn_record_names_nobody(tmp_path: Path, text: str) -> None:
    path = tmp_path / "all.h5"
    Path(lease.side_file_of(path)).write_text(text)
    assert lease.take(path, task="worker:0").token == 1


def test_of_many_who_ask_at_once_one_becomes_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    processes = [another(path) for _ in range(4)]
    said = [process.stdout.readline() for process in processes if process.stdout]
    assert sorted(said)[:3] == ["", "", ""]
    assert sorted(said)[3] == "1\n"
    for process in processes:
        process.kill()
        process.communicate()


def test_locks_are_tried_by_two_processes(tmp_path: Path) -> None:
    found = locks_work(tmp_path)
    assert found.works, found.why
    assert (found.flock, found.fcntl) == ("works", "works")
    assert str(tmp_path) in found.why
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_has_no_locks_and_it_says_why(tmp_path: Path) -> None:
    found = locks_work(tmp_path / "gone")
    assert not found.works
    assert "No such file" in found.why


@pytest.mark.parametrize(
    ("kind", "options", "works"),
    [
        ("ext4", "rw", True),
        ("nfs4", "rw,vers=4.2,local_lock=none", True),
        ("nfs", "rw,vers=3,local_lock=all", False),
        ("nfs", "rw,nolock,local_lock=all", False),
        ("lustre", "rw,flock,user_xattr", True),
        ("lustre", "rw,localflock", False),
        ("lustre", "rw", False),
        ("fuse.gcsfuse", "rw", False),
        ("cifs", "rw,nobrl", False),
    ],
)
def test_mounts_whose_locks_other_hosts_do_not_see_are_refused(
    kind: str, options: str, *, works: bool
) -> None:
    assert (_only_here(kind, options) == "") is works
