"""HDF5 files and log folders of several workers: damaged, shared, fed by a queue, mixed up."""

import os
import signal
import subprocess
from typing import Any

import h5py
import pytest
from bench.situations.situation import Run
from tests.run.conftest import HOLDFAST
from tests.situations.conftest import TOLD_S_MAX, until_told

pytestmark = pytest.mark.timeout(300)
FOUR = ("--workers", "4")
WRITTEN = ("summaries", "checkpoints")


@pytest.fixture(scope="module")
def runs(stage: Any) -> dict[str, Run]:
    shared = stage.home("shared")
    h5py.File(shared / "shared.h5", "w").close()  # so that nobody loses a race to create it
    return {
        "crash": stage.start("own_files", "--second-crashes", options=FOUR),
        "queue": stage.start("queue_writer", options=("--workers", "1")),
        **{what: stage.start("one_log_folder", what, home=stage.home(what)) for what in WRITTEN},
        "shared": stage.start("shared_file", options=FOUR, home=shared),
    }


def holdfast(run: Run, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [HOLDFAST, *words]
    return subprocess.run(command, cwd=run.folder, capture_output=True, text=True, check=False)


def test_a_file_that_was_never_closed_is_refused_by_name_and_the_others_are_merged(
    runs: dict[str, Run],
) -> None:
    run = runs["crash"]
    assert run.wait(TOLD_S_MAX)
    assert run.report()["findings"][0]["culprit"] == "worker:1"
    files = sorted(path.name for path in run.folder.glob("worker_*.h5"))
    refused = holdfast(run, "merge", *files, "-o", "all.h5")
    assert refused.returncode != 0
    assert "worker_1.h5" in refused.stdout + refused.stderr
    assert "holdfast rescue" in refused.stdout + refused.stderr
    merged = holdfast(run, "merge", *files, "-o", "all.h5", "--skip-damaged")
    assert "worker_1.h5" in merged.stdout + merged.stderr
    with h5py.File(run.folder / "all.h5") as file:
        assert len(file["samples/x"]) == 3 * 2000


def test_the_writer_of_a_queue_that_was_killed_is_told_with_who_waits_for_it(
    runs: dict[str, Run],
) -> None:
    run = runs["queue"]
    written = run.folder / "all.h5"
    assert run.until(lambda _: written.exists() and written.stat().st_size > 4000, TOLD_S_MAX)
    os.kill(int((run.folder / "writer.pid").read_text()), signal.SIGKILL)
    words = ("queue_writer.py:", "SIGKILL")
    until_told(run, lambda one: all(word in f"{one['says']}{one['do']}" for word in words))
    run.stop()
    assert run.report()["verdict"] != "healthy"


@pytest.mark.parametrize("what", WRITTEN)
def test_two_workers_that_write_into_one_folder_are_told(runs: dict[str, Run], what: str) -> None:
    run = runs[what]
    words = f"worker:0 and worker:1 write {what} into one folder, {run.folder / 'logs'}"
    told = until_told(run, lambda one: words in one["says"])
    assert (told["cause"], told["severity"]) == ("two-writers", "warning")


def test_a_second_writer_that_hdf5_refuses_is_told_with_the_file(runs: dict[str, Run]) -> None:
    run = runs["shared"]
    assert run.wait(TOLD_S_MAX)
    first = run.report()["findings"][0]
    assert first["cause"].startswith("hdf5-")
    assert "shared.h5" in f"{first['says']}{first['do']}"
