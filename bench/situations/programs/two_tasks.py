"""Both workers copy a part from one locked file to another, in opposite directions."""

import fcntl
import time
from pathlib import Path

from training import task, train


def copy(source: str, target: str) -> None:
    with Path(source).open("a") as old, Path(target).open("a") as new:
        fcntl.flock(old, fcntl.LOCK_EX)
        time.sleep(1)
        fcntl.flock(new, fcntl.LOCK_EX)


def load(step: int) -> None:
    if step == 20 and task() == "worker:0":
        copy("rows-a", "rows-b")
    elif step == 20:
        copy("rows-b", "rows-a")


train(load)
