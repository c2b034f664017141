"""Opens a writer: the kind that the address and the way ask for."""

import importlib
import os
from typing import Any, Literal

from holdfast.rows.errors import Refused
from holdfast.rows.writer import LOG_BYTES_MAX, Ack, Seal, Writer

Way = Literal["shards", "central", "locked"]
_ADDRESSES = ("tcp://", "unix://")


def open_writer(
    logdir: str | os.PathLike[str], *, task: str, way: Way = "shards", ack: Ack = "process",
    log_bytes_max: int = LOG_BYTES_MAX, seal: Seal = "background", **more: Any,
) -> Writer:  # fmt: skip
    """A writer of rows for one task; close it, or use it in a `with`."""
    address = os.fspath(logdir)
    if address.startswith(_ADDRESSES):
        return _elsewhere("sending", "open_sender", address, task=task, ack=ack, **more)
    if "://" in address:
        return _elsewhere(
            "remote", "open_remote", address, task=task, way=way, ack=ack,
            log_bytes_max=log_bytes_max, **more,
        )  # fmt: skip
    if way == "locked":
        return _elsewhere("locked", "open_locked", address, task=task, ack=ack, **more)
    if way == "central":
        return _elsewhere(
            "central_writer", "open_central", address, task=task, ack=ack,
            log_bytes_max=log_bytes_max, **more,
        )  # fmt: skip
    if way != "shards":
        raise Refused(f"way={way!r:.40} is unknown", do="use shards, central or locked")
    if more:
        raise Refused(f"{', '.join(more)}: no setting of this way", do="leave it out")
    return Writer(logdir, task=task, ack=ack, log_bytes_max=log_bytes_max, seal=seal, way=way)


def _elsewhere(module: str, function: str, *args: Any, **settings: Any) -> Writer:
    made: Writer = getattr(importlib.import_module(f"holdfast.rows.{module}"), function)(
        *args, **settings
    )
    return made
