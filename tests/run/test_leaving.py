"""An exception after which a process does not end is told while the job still hangs."""

import json
import signal
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(120)
Start = Any

# A thread that nobody ends keeps a process after its exception, as JAX's last barrier does.
TRAIN = """
import os, threading, time
import holdfast
for step in range(1, 100_000):
    holdfast.progress(step)
    time.sleep(0.05)
    if os.environ["HOLDFAST_TASK"] == "worker:1" and step == 200:
        threading.Thread(target=threading.Event().wait).start()
        raise RuntimeError("told to fail")
"""


def test_a_process_that_cannot_leave_after_its_exception_is_told(
    start: Start, poll_until: Any
) -> None:
    job = start("--workers", "2", "--", sys.executable, start.script("train.py", TRAIN))

    def told() -> list[dict[str, Any]]:
        path = job.run_dir / "findings.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [found for line in lines if (found := json.loads(line))["severity"] == "error"]

    poll_until(told, "somebody to be accused", wait_s=80)
    (found,) = told()
    assert (found["cause"], found["culprit"]) == ("user-exception", "worker:1")
    assert found["says"].startswith("worker:1 ended with RuntimeError: told to fail, and its")
    assert "_shutdown at threading.py:" in found["says"]
    assert "train.py:9" in found["do"][0]
    job.front.send_signal(signal.SIGINT)
    assert job.wait() == 130
    assert job.root == ("user-exception", "worker:1"), "it stays the cause, whoever ended the job"
    job.nothing_is_left()
