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


def shown(run_dir: RunDir, tmp_path: Path, text: str, *, hole: tuple[int, int]) -> str:
    """What a front that comes late shows of a log of which a part was released."""
    fds = {stream: run_dir.create_log(TASK, 1, stream) for stream in ("out", "err")}
    os.write(fds["out"], text.encode())
    path = next((tmp_path / "run" / "logs").glob("*.out"))
    with path.open("r+b") as log:
        libc = ctypes.CDLL(None, use_errno=True)
        where = (ctypes.c_int64(hole[0]), ctypes.c_int64(hole[1]))
        if libc.fallocate(log.fileno(), KEEP_SIZE | PUNCH_HOLE, *where):
            pytest.skip("this file system cannot release a part of a file")
    shown = tmp_path / "shown"
    with shown.open("wb") as out:
        screen = Screen(out.fileno(), width=200, colour=False, is_tty=False, tasks=[str(TASK)])
        watch = Watch(run_dir, [TASK], screen, shown=[TASK], is_tty=False)
        for second in range(12):
            watch.step(float(second), width=200)
        watch.drain(20.0, width=200)
        screen.close(5.0)
    return shown.read_text()


def texts(shown: str) -> list[str]:
    return [line.partition(" │ ")[2] for line in shown.splitlines() if " │ " in line]


def test_no_line_is_made_of_two(run_dir: RunDir, tmp_path: Path) -> None:
    """Pages go one after the other: a read may find the first still there, and not the next."""
    lines = [f"{number:06d} " * 12 + f"{number:06d}\n" for number in range(200)]
    seen = shown(run_dir, tmp_path, "".join(lines), hole=(PAGE, PAGE))
    assert len(texts(seen)) > 100
    assert all(len(set(text.partition("…")[0].split()[:-1])) <= 1 for text in texts(seen))
    assert "\\x00" not in seen


@pytest.mark.parametrize("released", range(16 * PAGE, 24 * PAGE, PAGE))
def test_a_line_without_its_beginning_is_passed_over_however_long_it_is(
    run_dir: RunDir, tmp_path: Path, released: int
) -> None:
    """More than one read of it is left: its middle is no line either."""
    lines = [f"{number:06d} " * 20_000 + "\n" for number in range(2)]
    seen = shown(run_dir, tmp_path, "".join([*lines, "the next\n"]), hole=(0, released))
    assert [text for text in texts(seen) if text.split()[0] != "000001"] == ["the next"]
    assert "… 1 line was not shown here" in seen


def test_a_progress_bar_without_its_beginning_goes_on_with_its_next_state(
    run_dir: RunDir, tmp_path: Path
) -> None:
    states = "".join(f"\r{number:06d} of 2000" for number in range(2000))
    seen = shown(run_dir, tmp_path, states, hole=(0, PAGE))
    assert texts(seen)[-1] == "001999 of 2000"
    assert all(len(text) == len("001999 of 2000") for text in texts(seen))
