"""What the tests of segments, index and merge share: a log directory with rows of all kinds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holdfast import rows

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
