"""Worker 1 reads its next part from a named pipe that nobody writes."""

import os
from pathlib import Path

from training import task, train


def read_part() -> str:
    os.mkfifo("part-20")
    return Path("part-20").read_text()


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        read_part()


train(load)
