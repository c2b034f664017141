"""What the tests of segments, index and merge share: rows of all kinds, and kills."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holdfast import rows
from holdfast.rows import merge_fill, merge_journal

POINT = np.dtype([("x", "<i4"), ("y", "<f8", (2,))])
TASKS = ("worker:2", "worker:10", "chief:0")
IN_ORDER = ("chief:0", "worker:2", "worker:10")
Written = dict[str, dict[str, npt.NDArray[Any]]]


def batches_of(task: str, number: int) -> dict[str, Any]:
    """The same for the same task and number; batches of tasks differ."""
    chance = np.random.default_rng([TASKS.index(task), number])
    step = np.arange(5, dtype=np.int64) + number * 5
    points = np.zeros(5, dtype=POINT)
    points["x"] = step
    points["y"] = chance.random((5, 2))
    return {
        "metrics/step": step * 7 % 11,
        "metrics/loss": chance.random((5, 3), dtype=np.float32),
        "metrics/packed": chance.integers(0, 9, (5, 4), dtype=np.int32),
        "points": points,
        "said": np.array([f"{task} ü {number}.{item}" * (item % 3) for item in range(5)], object),
    }


def write(logdir: Path, *, batches: int = 12, seal: Any = "never", **more: Any) -> Written:
    """Batches of all tasks in turns, so that their times interleave; closed logs at the end."""
    writers = {
        task: rows.open(logdir, task=task, seal=seal, log_bytes_max=4096, **more) for task in TASKS
    }
    found: Written = {task: {} for task in TASKS}
    for writer in writers.values():
        writer.dataset("metrics/packed", dtype="<i4", shape=(4,), compression="gzip", chunk_rows=10)
        writer.dataset("points", dtype=POINT, attrs={"unit": "m"})
        writer.dataset("never", dtype="<f4")
    for number in range(batches):
        for task, writer in writers.items():
            batch = batches_of(task, number)
            writer.append_many(batch)
            for name, values in batch.items():
                before = found[task].get(name)
                found[task][name] = values if before is None else np.concatenate((before, values))
    for writer in writers.values():
        writer.close()
    return found


def by_task(written: Written, name: str) -> npt.NDArray[Any]:
    return np.concatenate([written[task][name] for task in IN_ORDER])


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture(name="write")
def _write() -> Callable[..., Written]:
    return write


@pytest.fixture(name="by_task")
def _by_task() -> Callable[..., npt.NDArray[Any]]:
    return by_task


CHANGES = (
    *("write", "pwrite", "copy_file_range", "fsync", "fdatasync", "ftruncate"),
    *("link", "replace", "rename", "unlink", "rmdir", "mkdir"),
)


@pytest.fixture(name="killed")
def _killed() -> Callable[..., bool]:
    return killed


def killed(work: Callable[[], Any], *, at: int) -> bool:
    """Works in a process of its own, which dies before its nth change; whether it lived."""
    pid = os.fork()
    if not pid:
        try:
            _die_at(at)
            work()
            os._exit(0)
        finally:
            os._exit(9)
    _, status = os.waitpid(pid, 0)
    assert status in (0, signal.SIGKILL), status
    return status == 0


def _die_at(killed_at: int) -> None:
    left = killed_at

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **more)

        return call

    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))
    # Every step is noted, so that each of them is one to go on from.
    vars(merge_journal)["_NOTE_BYTES"] = 1
    vars(merge_fill)["_SYNC_BYTES"] = 1 << 10
