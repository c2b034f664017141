"""Who compacts the logs of a log directory: one process at a time."""

from pathlib import Path

from holdfast.rows import lease
from holdfast.rows.errors import Held, unwritable

COMPACTOR = "compactor"


def take_compacting(folder: Path) -> lease.Lease:
    """Held if another one does, with who it is."""
    try:
        return lease.take(folder / COMPACTOR, task=COMPACTOR)
    except Held as error:
        raise Held(
            f"{folder} has a compactor: pid {error.pid} on {error.host}, since {error.since}",
            do="let that one run, or end it first: rows wait safely in their logs",
            host=error.host,
            pid=error.pid,
            task=error.task,
            since=error.since,
        ) from error
    except OSError as error:
        raise unwritable(folder, error) from error
