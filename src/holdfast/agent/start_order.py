"""What the process that looks at a starting cluster is told."""

import msgspec


class StartOrder(msgspec.Struct):
    """Whom to look at, and how the facts are stamped."""

    run_dir: str
    addresses: dict[str, str]  # task -> where it should listen
    zero_s: float
    host: str
    deadline_s: float  # when we may stop looking at what is no TensorFlow cluster
    attempt: int = 1
