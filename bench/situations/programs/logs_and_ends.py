"""Each worker logs what ends its training into a file of its own, and leaves with 0."""

import logging

from training import task, train

logging.basicConfig(filename=f"{task().replace(':', '-')}.log", level=logging.INFO)
LOG = logging.getLogger("trainer")


def parse(row: str) -> float:
    return float(row)


def load(step: int) -> None:
    parse("n/a" if step == 12 else "1.5")


try:
    train(load)
except Exception:
    LOG.exception("training failed")
