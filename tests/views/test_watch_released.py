"""A log of which a part was released while it was read: what is shown was written so."""

import ctypes
import os
from pathlib import Path

import pytest

from holdfast.logdir.run_dir import RunDir, create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.views.live import Screen
from holdfast.views.watch import Watch

TASK = TaskId("worker", 0)
PAGE = 4096
KEEP_SIZE, PUNCH_HOLE = 1, 2


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    made = create_run_dir(tmp_path / "run")
    made.write_json("run.json", {})
    return made


def test_no_line_is_made_of_two(run_dir: RunDir, tmp_path: Path) -> None:
    """Pages go one after the other: a read may find the first still there, and not the next."""
    lines = [f"{number:06d} " * 12 + f"{number:06d}\n" for number in range(200)]
    fds = {stream: run_dir.create_log(TASK, 1, stream) for stream in ("out", "err")}
    os.write(fds["out"], "".join(lines).encode())
    path = next((tmp_path / "run" / "logs").glob("*.out"))
    with path.open("r+b") as log:
        libc = ctypes.CDLL(None, use_errno=True)
        where = (ctypes.c_int64(PAGE), ctypes.c_int64(PAGE))
        if libc.fallocate(log.fileno(), KEEP_SIZE | PUNCH_HOLE, *where):
            pytest.skip("this file system cannot release a part of a file")
    shown = tmp_path / "shown"
    with shown.open("wb") as out:
        screen = Screen(out.fileno(), width=200, colour=False, is_tty=False, tasks=[str(TASK)])
        watch = Watch(run_dir, [TASK], screen, shown=[TASK], is_tty=False)
        for second in range(6):
            watch.step(float(second), width=200)
        watch.drain(10.0, width=200)
        screen.close(5.0)
    texts = [line.partition(" │ ")[2] for line in shown.read_text().splitlines() if " │ " in line]
    assert len(texts) > 100
    assert all(len(set(text.partition("…")[0].split()[:-1])) <= 1 for text in texts)
    assert "\\x00" not in shown.read_text()
