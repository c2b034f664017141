"""A program of another framework may do with its address what it likes."""

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(90)
Start = Any

# As PyTorch's store: the first one listens, in a protocol of its own, and the others come to it.
PROGRAM = """
import json, os, socket, time
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["worker"][0].split(":")
if config["task"]["index"] == 0:
    server = socket.create_server((host, int(port)))
for second in range(10):
    time.sleep(1)
    print("epoch", second, flush=True)
"""


def test_a_server_that_is_not_tensorflows_is_not_accused(start: Start) -> None:
    program = start.script("train.py", PROGRAM)
    job = start("--workers", "2", "--", sys.executable, program)
    assert job.wait() == 0
    assert job.report["findings"] == []
    assert not (job.run_dir / "findings.jsonl").exists()
