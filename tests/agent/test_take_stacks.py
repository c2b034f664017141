"""Who takes stacks ends with the one who asked for them."""

import subprocess
import sys
import time
from pathlib import Path

import msgspec

from holdfast.agent.stacks_order import StacksOrder
from holdfast.model.codec import decode
from holdfast.model.watch_facts import StacksSeen

SLEEPS = "print(flush=True); import time; time.sleep(30)"


def test_nobody_listens_after_the_first_round(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE) as task:
        assert task.stdout is not None
        task.stdout.readline()
        order = StacksOrder(
            run_dir=str(tmp_path),
            pids={"worker:0": task.pid},
            zero_s=time.monotonic(),
            host="here",
            why="",
        )
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.agent.take_stacks", msgspec.json.encode(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as taker:
            assert taker.stdin is not None
            assert taker.stdout is not None
            assert isinstance(decode(taker.stdout.readline()), StacksSeen)
            taker.stdin.close()
            assert taker.stdout.read() == b"", "no second round"
            assert taker.wait() == 0
        task.kill()
