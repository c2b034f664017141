"""Each worker logs what goes wrong into a file of its own, and goes on with the next step."""

import logging

from training import task, train

logging.basicConfig(filename=f"{task().replace(':', '-')}.log", level=logging.INFO)
LOG = logging.getLogger("trainer")


def parse(row: str) -> float:
    return float(row)


def load(step: int) -> None:
    try:
        parse("n/a" if task() == "worker:1" and step == 12 else "1.5")
    except ValueError:
        LOG.exception("step %d is left out", step)


train(load, steps=150)
