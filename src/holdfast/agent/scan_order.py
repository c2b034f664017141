"""What the process that reads the output is told on its command line."""

import msgspec


class ScanOrder(msgspec.Struct):
    """What to read, and how the facts are stamped."""

    run_dir: str
    tasks: list[str]
    zero_s: float
    host: str
    keep_bytes: int | None = None
    attempt: int = 1
    released: dict[str, int] = {}  # `worker:0 out` -> the first byte that is still there
