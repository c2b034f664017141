"""What the process that takes stacks is told."""

import msgspec


class StacksOrder(msgspec.Struct):
    """Whose stacks to take, and how the facts are stamped."""

    run_dir: str
    pids: dict[str, int]  # task -> the process that trains
    zero_s: float
    host: str
    why: str
    rounds: int = 2  # at least
    attempt: int = 1
