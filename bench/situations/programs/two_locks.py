"""Worker 1 refreshes its cache in a thread, which takes two locks the other way round."""

import threading
import time

from training import task, train

CACHE, INDEX = threading.Lock(), threading.Lock()


def refresh() -> None:
    with INDEX:
        time.sleep(0.5)
        with CACHE:
            pass


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        threading.Thread(target=refresh).start()
        with CACHE:
            time.sleep(0.3)
            with INDEX:
                pass


train(load)
