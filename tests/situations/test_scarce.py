"""Open files or the disk of a worker run out: a warning before it happens, then the culprit."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.situations.judging import matching, wrongly_accused
from bench.situations.situation import Run
from tests.situations.conftest import TOLD_S_MAX, until_told

pytestmark = pytest.mark.timeout(300)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="to mount a small disk takes root")
# They use up nine parts of ten, and the rest once they were warned of.
NEAR_1024_FILES = {"PACE_S": "0.01", "HELD_STEP": "325"}
NEAR_96_MB = {"PACE_S": "0.01", "HELD_STEP": "184"}


def warned_and_then_named(run: Run, warning: str, *error: str) -> None:
    until_told(run, lambda one: one["severity"] == "warning" and warning in one["says"])
    (run.folder / "go").touch()
    assert run.wait(TOLD_S_MAX), run.text[-3000:]
    first = run.report()["findings"][:1]
    assert matching(first, culprit="worker:1", words=error, severities=("error",)), first
    assert wrongly_accused(run, but=("worker:1", None)) == []


@pytest.fixture(scope="module")
def files(stage: Any) -> Run:
    run: Run = stage.start("files_leak", env=NEAR_1024_FILES, goes_on=False)
    return run


@pytest.fixture(scope="module")
def disk(stage: Any) -> Iterator[Run]:
    home: Path = stage.home("disk")
    place = home / "checkpoints"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "holdfast", str(place)], check=True)
    yield stage.start("one_file_fills", home=home, env=NEAR_96_MB, goes_on=False)
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_open_files(files: Run) -> None:
    warned_and_then_named(files, "files open, of 1024", "open files", "1024")


@needs_root
def test_disk(disk: Run) -> None:
    folder = str(disk.folder / "checkpoints")
    warned_and_then_named(disk, folder, "the disk is full", "No space left on device")
