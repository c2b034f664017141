"""Children that fail while their task ends with exit code 0; and children that are well."""

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(120)
Start = Any

LAUNCHER = """
import multiprocessing, os, subprocess, sys, traceback

def fail():
    raise ValueError("this shard has no rows")

def cope():
    try:
        fail()
    except ValueError:
        traceback.print_exc()

if __name__ == "__main__":
    task = os.environ["HOLDFAST_TASK"]
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=fail if task == "worker:0" else cope)
    child.start()
    child.join()
    bad = [sys.executable, "-c", "raise OSError('nobody is at home')"]
    subprocess.run(bad, capture_output=task == "worker:1", check=False)
    print("done")
"""


def test_a_failed_child_is_a_warning_and_changes_no_exit_code(start: Start) -> None:
    program = start.script("launcher.py", LAUNCHER)
    job = start("--ps", "0", "--workers", "2", "--", sys.executable, program)
    assert job.wait(100) == 0
    (found,) = job.report["findings"]
    assert (job.report["verdict"], job.report["healthy"]) == ("cannot-tell", ["worker:1"])
    assert (found["cause"], found["severity"]) == ("child-failed", "warning")
    assert found["culprit"] == "worker:0"
    assert (
        "although 2 child processes failed: SpawnProcess-1 ended with ValueError" in found["says"]
    )
    assert "ended with OSError: nobody is at home (exit code 1)" in found["says"]
    assert found["do"][0].endswith("launcher.py:5")
    assert "warning[child-failed]: worker:0 ended with exit code 0 although" in job.out + job.err
