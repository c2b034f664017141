"""A run directory whose disk fills up: the job goes on, and the end is told honestly."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(90)
# Fills the disk with output, sees that it is full, and still has work to do.
FILL = """
import os, sys, time
try:
    while True:
        os.write(1, b"x" * 65536)
except OSError:
    pass
if sys.argv[1] == "and-free":
    os.truncate(f"{os.environ['HOLDFAST_RUN_DIR']}/logs/worker-0.1.out", 0)
time.sleep(1)
open(sys.argv[2], "w").write("done")
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(place)]
    subprocess.run(mount, check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(
    small_disk: Path, tmp_path: Path, how: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    finished = tmp_path / "finished"
    run_dir = small_disk / "run"
    program = tmp_path / "fill.py"
    program.write_text(FILL)
    task = [sys.executable, str(program), how, str(finished)]
    command = [sys.executable, "-m", "holdfast", "run", "-q", "--run-dir", str(run_dir)]
    ran = subprocess.run([*command, "--", *task], check=False, capture_output=True, text=True)
    assert finished.read_text() == "done"
    return ran, run_dir


def test_the_job_goes_on_and_the_end_says_what_is_missing(small_disk: Path, tmp_path: Path) -> None:
    ran, run_dir = fill(small_disk, tmp_path, "and-stay")
    assert ran.returncode == 74
    assert "did not fit into" in ran.stderr
    assert "Traceback" not in ran.stderr
    later = [sys.executable, "-m", "holdfast", "diagnose", str(run_dir)]
    told = subprocess.run(later, check=False, capture_output=True, text=True)
    assert told.returncode == 1
    # Whether the last look at the disk still went into the journal is a matter of luck.
    assert "cannot tell" in told.stdout or "disk-nearly-full" in told.stdout


def test_what_did_not_fit_goes_in_when_there_is_room_again(
    small_disk: Path, tmp_path: Path
) -> None:
    ran, run_dir = fill(small_disk, tmp_path, "and-free")
    assert ran.returncode == 0, ran.stderr
    assert (run_dir / "report.json").exists()
