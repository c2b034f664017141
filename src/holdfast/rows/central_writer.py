"""A local writer of the central way: its log is its own, and the compactor's backlog is bounded."""

import logging
import os
import time
from typing import Any

from holdfast.rows import central_schema, lease
from holdfast.rows.central_state import central_folder
from holdfast.rows.errors import Unwritable
from holdfast.rows.layout import CENTRAL
from holdfast.rows.log import Log
from holdfast.rows.pacing import Backlog, Pace
from holdfast.rows.schema import Dataset
from holdfast.rows.writer import LOG_BYTES_MAX, Ack, Writer

BACKLOG_BYTES_MAX = 8 << 30
BACKLOG_WAIT_S = 300.0
_LOOK_S = 0.1

_log = logging.getLogger("holdfast.rows")


def open_central(
    logdir: str | os.PathLike[str],
    *,
    task: str,
    ack: Ack = "process",
    log_bytes_max: int = LOG_BYTES_MAX,
    backlog_bytes_max: int = BACKLOG_BYTES_MAX,
    backlog_wait_s: float = BACKLOG_WAIT_S,
) -> "CentralWriter":
    """A writer whose logs a compactor takes over (`holdfast rows serve`, `rows.central`).

    Nobody waits for the compactor until this writer's logs hold `backlog_bytes_max` that it has
    not taken over; then append waits, and raises Unwritable after `backlog_wait_s`. Where the
    kernel would begin to write logs to the disk, each new log waits up to 0.2 s (pacing.py).
    """
    return CentralWriter(
        logdir,
        task=task,
        ack=ack,
        log_bytes_max=log_bytes_max,
        backlog_bytes_max=backlog_bytes_max,
        backlog_wait_s=backlog_wait_s,
    )


class CentralWriter(Writer):
    """Looks at the backlog whenever a log is full, and agrees with others on datasets."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        task: str,
        ack: Ack,
        log_bytes_max: int,
        backlog_bytes_max: int,
        backlog_wait_s: float,
    ) -> None:
        self._backlog_bytes_max = backlog_bytes_max
        self._backlog_wait_s = backlog_wait_s
        self._has_said_half = False
        self._pace = Pace(self._backlog)
        super().__init__(
            logdir, task=task, ack=ack, log_bytes_max=log_bytes_max, seal="never", way=CENTRAL
        )

    def _declare(self, made: Dataset) -> Log:
        central_schema.agree(self.logdir, made, task=self.task)
        return super()._declare(made)

    def _ready(self, now_ns: int) -> Log:
        if self._logs.log is None and not self._is_closed:
            self._wait_for_room()
            self._pace.wait()
        return super()._ready(now_ns)

    def _wait_for_room(self) -> None:
        nbytes = self._backlog().nbytes
        if nbytes <= self._backlog_bytes_max // 2:
            self._has_said_half = False
            return
        if not self._has_said_half:
            self._has_said_half = True
            _log.warning(
                "%s: %d bytes wait to be taken over into central segments (%s); append blocks "
                "from %d on",
                self.task, nbytes, self._compactor(), self._backlog_bytes_max,
            )  # fmt: skip
        began_s = time.monotonic()
        if nbytes <= self._backlog_bytes_max:
            return
        _log.warning(
            "%s: append waits up to %g s for room in the backlog", self.task, self._backlog_wait_s
        )
        while self._backlog().nbytes > self._backlog_bytes_max:
            waited_s = time.monotonic() - began_s
            if waited_s > self._backlog_wait_s:
                raise Unwritable(
                    f"{self.task}: {nbytes} bytes of rows wait since {waited_s:.0f} s to be taken "
                    f"over into central segments ({self._compactor()}); what was acknowledged is "
                    "safe in the logs",
                    do=f"holdfast rows serve {self.logdir}",
                )
            time.sleep(_LOOK_S)
        _log.warning("%s: append goes on after %.1f s", self.task, time.monotonic() - began_s)

    def _backlog(self) -> Backlog:
        sizes = {
            entry.name: _size_of(entry)
            for entry in os.scandir(self.folder)
            if entry.name.endswith(".log")
        }
        return Backlog(sum(sizes.values()), min(sizes, default=""))

    def _compactor(self) -> str:
        owner = lease.owner_of(central_folder(self.logdir) / "compactor")
        if owner is None:
            return "no compactor runs"
        return f"the compactor is process {owner.pid} on {owner.host}, since {owner.since}"


def _size_of(entry: Any) -> int:
    try:
        return int(entry.stat().st_size)
    except FileNotFoundError:  # taken over in this moment
        return 0
