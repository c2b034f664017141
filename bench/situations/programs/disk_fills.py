"""Worker 1 keeps a checkpoint of half a megabyte of each step, and deletes none."""

import os
from pathlib import Path

from training import task, train


def load(step: int) -> None:
    if task() == "worker:1":
        Path("checkpoints", f"weights-{step}.npy").write_bytes(os.urandom(1 << 19))


train(load)
