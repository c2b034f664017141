"""Worker 1 looks for a seed of which no rows are left over, and there is none."""

from training import task, train


def matching_seed(step: int) -> int:
    seed = 1
    while seed * seed % 4 != 2:  # no square leaves 2
        seed += 1
    return seed


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        matching_seed(step)


train(load)
