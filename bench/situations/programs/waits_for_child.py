"""Worker 1 has its data unpacked by another program, which never comes back."""

import subprocess

from training import task, train


def unpack() -> None:
    subprocess.run(["tail", "-f", "/dev/null"], check=True)


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        unpack()


train(load)
