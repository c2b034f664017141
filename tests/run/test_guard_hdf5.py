"""`--guard-hdf5`: a program that knows nothing of us is stopped before it damages a shared file."""

import sys
from pathlib import Path
from typing import Any

import h5py
import pytest

pytestmark = pytest.mark.timeout(60)
Start = Any

# Each task waits until the other one has the file open, or was stopped.
SHARE = """
import os, pathlib, sys, time
import h5py
path, task = sys.argv[1], os.environ["HOLDFAST_TASK"]
here = pathlib.Path(path).parent
def wait_for(pattern):
    until = time.monotonic() + 30
    while time.monotonic() < until and not list(here.glob(pattern)):
        time.sleep(0.02)
if task == "worker:1":
    wait_for("open.worker:0")
try:
    file = h5py.File(path, "a", locking=False)
except OSError:
    (here / f"stopped.{task}").touch()
    raise
file.flush()
(here / f"open.{task}").touch()
if task == "worker:0":
    wait_for("*.worker:1")
file[f"of {task}"] = [1, 2, 3]
file.close()
"""


def test_the_second_writer_is_stopped_and_told_who_holds_the_file(
    start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "all.h5"
    job = start(
        *("--workers", "2", "--guard-hdf5", "--"), *(sys.executable, "-c", SHARE, str(path))
    )
    assert job.wait() != 0
    assert (tmp_path / "stopped.worker:1").exists()
    assert "is held for writing by worker:0 (pid " in job.out
    assert "hdf5-second-writer" in job.out
    with h5py.File(path) as file:
        assert list(file) == ["of worker:0"]


def test_without_it_nobody_is_stopped(start: Start, tmp_path: Path) -> None:
    job = start("--workers", "2", "--", sys.executable, "-c", SHARE, str(tmp_path / "all.h5"))
    job.wait()
    assert (tmp_path / "open.worker:1").exists()
