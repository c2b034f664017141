"""Worker 1 counts its rows under a lock that it has taken already."""

import threading

from training import task, train

ROWS = {"seen": 0}
LOCK = threading.Lock()


def count() -> None:
    with LOCK:
        ROWS["seen"] += 1


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        with LOCK:
            count()
    else:
        count()


train(load)
