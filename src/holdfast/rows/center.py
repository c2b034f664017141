"""`rows.central(logdir)`: a compactor, and a receiver if asked for, beside the program."""

import json
import os
import select
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, Self

from holdfast.rows.errors import Held, RowsError
from holdfast.rows.serve_settings import AGE_S, HELD_CODE, SEGMENT_BYTES, Lines, Settings

READY_S_MAX = 60.0
FLUSH_S_MAX = 600.0


def central(
    logdir: str | os.PathLike[str],
    *,
    listen: tuple[str, ...] | list[str] = (),
    token: str | None = None,
    segment_bytes: int = SEGMENT_BYTES,
    age_s: float = AGE_S,
) -> "Central":
    """Starts taking over what central writers log, until the end of the `with` or of this program.

    `listen` holds addresses (tcp://host:port, unix:///path) for writers without the folder; on
    TCP they need the `token`. Held, if somebody does this already.
    """
    settings = Settings(
        logdir=os.path.abspath(logdir),  # noqa: PTH100 - a Path of the same is no better
        listen=tuple(listen),
        token=token,
        segment_bytes=segment_bytes,
        age_s=age_s,
    )
    return Central(settings)


class Central:
    """The process beside us. `addresses`: where it listens, with the ports that it got."""

    def __init__(self, settings: Settings) -> None:
        self.addresses: list[str] = []
        self.pid = 0
        self._lock = threading.Lock()
        self._flushes = 0
        self._child = subprocess.Popen(
            [sys.executable, "-m", "holdfast.rows.supervising"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._orders = self._child.stdin.fileno()
        self._said = self._child.stdout.fileno()
        self._lines = Lines(self._said)
        try:
            os.write(self._orders, settings.to_line([]))
            self._wait_for("ready", wait_s=READY_S_MAX)
        except BaseException:
            self.close()
            raise

    def flush(self) -> None:
        """Returns when all that was acknowledged before is in published segments."""
        with self._lock:
            self._flushes += 1
            try:
                os.write(self._orders, b"flush %d\n" % self._flushes)
            except OSError as error:
                raise RowsError("the central writer has ended", do="start another") from error
            self._wait_for("flushed", number=self._flushes, wait_s=FLUSH_S_MAX)

    def close(self) -> None:
        """Publishes what is there, and ends. Idempotent."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait_for(self, state: str, *, number: int | None = None, wait_s: float) -> None:
        while select.select([self._said], [], [], wait_s)[0]:
            for line in self._lines.new():
                told = json.loads(line)
                self._learn(told)
                if told.get("state") == state and told.get("number") == number:
                    return
            if self._lines.is_over:
                code = self._child.wait()
                raise RowsError(
                    f"the central writer ended with code {code}"
                    + (": somebody else holds it" if code == HELD_CODE else ""),
                    do="see what it wrote to standard error",
                )
        raise RowsError(f"the central writer gave no answer in {wait_s:g} s", do="see if it runs")

    def _learn(self, told: dict[str, Any]) -> None:
        if told.get("state") == "ready":
            self.addresses = [str(address) for address in told["addresses"]]
            self.pid = int(told["pid"])
        elif told.get("state") == "held":
            raise Held(
                told["message"],
                do=told["do"],
                host=told["host"],
                pid=told["pid"],
                task=told["task"],
                since=told["since"],
            )
