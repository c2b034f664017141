"""A lease has one owner, and a dead one is followed at once."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.rows import lease
from holdfast.rows.errors import Held
from holdfast.rows.lock_test import _only_here, locks_work

TAKE = """
import sys
from holdfast.rows import lease
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
    from_elsewhere(tmp_path / "old.h5", until_s=time.time() - lease.CLOCKS_APART_S - 1)
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
