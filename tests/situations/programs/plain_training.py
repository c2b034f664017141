"""The training that programs of `bench.situations` share, without TensorFlow: plain sockets.

It is put beside them as `training.py`, and its all-reduce where frameworks are installed.
"""

import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

PACE_S = float(os.environ.get("PACE_S", "0.05"))
HELD_STEP = int(os.environ.get("HELD_STEP", "10"))  # it waits until the test lets it go on
SAID = Path("go")
PORT = Path("port")
sys.path.append(str(Path(__file__).parent / "site-packages"))


def task() -> str:
    me = json.loads(os.environ["TF_CONFIG"])["task"]
    return f"{me['type']}:{me['index']}"


def train(load: Callable[[int], None], steps: int = 10_000) -> None:
    all_reduce = importlib.import_module("horovod").all_reduce
    peers = connected()
    for step in range(1, steps + 1):
        while step == HELD_STEP and not SAID.exists():
            time.sleep(0.02)
        load(step)
        time.sleep(PACE_S)
        all_reduce(peers)
        print(f"step {step} loss {1 / step:.3f}", flush=True)


def connected() -> list[socket.socket]:
    """Worker 0 with all others, and all others with it."""
    if task() == "worker:0":
        server = socket.create_server(("127.0.0.1", 0))
        Path("port.new").write_text(str(server.getsockname()[1]))
        Path("port.new").rename(PORT)
        workers = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]
        return [server.accept()[0] for _ in workers[1:]]
    while not PORT.exists():
        time.sleep(0.02)
    return [socket.create_connection(("127.0.0.1", int(PORT.read_text())))]
