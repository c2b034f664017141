"""How much room there is, asked so that a file system that hangs holds up nobody."""

import os
import subprocess
import sys
import time
from pathlib import Path

from holdfast.probes import disk, mount_of
from holdfast.probes.disk import RoomAsked, room_at, written_folders


def answer_of(asked: RoomAsked) -> disk.Room | None:
    while not asked.is_answered():
        time.sleep(0.01)
    return asked.answer()


def test_another_process_finds_the_same_room(tmp_path: Path) -> None:
    asked, own = answer_of(RoomAsked(str(tmp_path))), room_at(str(tmp_path))
    assert asked
    assert own
    assert (asked.total_bytes, asked.total_inodes) == (own.total_bytes, own.total_inodes)
    assert abs(asked.free_bytes - own.free_bytes) < own.total_bytes / 10


def test_a_path_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    assert answer_of(RoomAsked(str(tmp_path / "absent"))) is None
    assert room_at(str(tmp_path / "absent")) is None


def test_a_question_that_hangs_is_given_up(tmp_path: Path) -> None:
    asked = RoomAsked(str(tmp_path))
    with subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE) as hangs:
        asked._process.communicate()
        asked._process = hangs
        assert not asked.is_answered()
        asked._asked_s -= disk.ANSWER_S_MAX
        assert answer_of(asked) is None


def test_the_mount_of_a_path_is_known_without_a_look_at_it() -> None:
    found = mount_of("/proc/1/whatever/is/not/there")
    assert found
    assert found.point == "/proc"


def test_where_a_process_writes_is_known(tmp_path: Path) -> None:
    read, written, cwd = (tmp_path / name for name in ("read", "written", "cwd"))
    for folder in (read, written, cwd):
        folder.mkdir()
    (read / "file").write_text("")
    code = (
        f"f = open({str(read / 'file')!r}); g = open({str(written / 'file')!r}, 'w')\n"
        "print('up', flush=True)\ninput()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", code], cwd=cwd, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        found = set(written_folders(process.pid))
        process.stdin.close()
    assert found == {str(cwd), str(written)}
    assert list(written_folders(process.pid)) == []
    assert os.getcwd() in set(written_folders(os.getpid()))  # noqa: PTH109
