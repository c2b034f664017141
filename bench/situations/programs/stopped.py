"""Worker 1 is stopped, as by `kill -STOP` or a terminal."""

import os
import signal

from training import task, train


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        os.kill(os.getpid(), signal.SIGSTOP)


train(load)
