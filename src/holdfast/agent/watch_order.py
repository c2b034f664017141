"""What the process that watches the tasks is told on its command line."""

import msgspec


class WatchOrder(msgspec.Struct):
    """Whom to watch, and how the facts are stamped."""

    run_dir: str
    addresses: dict[str, str]  # task -> where its server listens
    zero_s: float
    host: str
    attempt: int = 1
