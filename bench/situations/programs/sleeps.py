"""Worker 1 waits an hour for its next part of the data, as it was told to."""

import time

from training import task, train


def wait_for_part() -> None:
    time.sleep(3600)


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        wait_for_part()


train(load)
