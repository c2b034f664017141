"""Worker 1 opens some parts in each step and forgets to close them; its limit is a usual one."""

import os
import resource
from typing import Any

from training import task, train

PARTS: list[Any] = []
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


def load(step: int) -> None:
    if task() == "worker:1":
        PARTS.extend(open(os.devnull, "rb") for _ in range(3))  # noqa: PTH123, SIM115


train(load)
