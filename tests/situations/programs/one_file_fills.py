"""Worker 1 appends half a megabyte to its file of rows in each step, and keeps it open."""

import io
import os

from training import task, train

OPEN: list[io.FileIO] = []


def load(step: int) -> None:
    if task() == "worker:1":
        if not OPEN:
            OPEN.append(io.FileIO("checkpoints/rows", "a"))
        OPEN[0].write(os.urandom(1 << 19))


train(load)
