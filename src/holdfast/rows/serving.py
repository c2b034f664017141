"""The process that compacts and receives: started, and started again, by supervising.py.

It reads its settings as a line of JSON from its standard input, and ends when that ends: so it
never outlives whoever started it, even if that was killed.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.rows.compactor import Compactor
from holdfast.rows.errors import Held, RowsError
from holdfast.rows.receiver import Receiver
from holdfast.rows.serve_settings import FAILED_CODE, HELD_CODE, Lines, Settings, warn

_TICK_S = 0.02
_TICK_S_MAX = 0.05
_TICK_SHARE = 20  # looking takes at most one part in so many


def tell(**content: Any) -> None:
    """One line for whoever started us."""
    os.write(1, json.dumps(content).encode() + b"\n")


def main() -> int:
    settings, fds = Settings.from_line(Lines(0).first())
    is_asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: is_asked.set())
    try:
        _serve(settings, fds, is_asked)
    except Held as error:
        tell(state="held", message=error.message, do=error.do, host=error.host, pid=error.pid,
             task=error.task, since=error.since)  # fmt: skip
        return HELD_CODE
    except RowsError as error:
        warn(str(error))
        return FAILED_CODE
    return 0


def _serve(settings: Settings, fds: list[int], is_asked: threading.Event) -> None:
    compactor = Compactor(
        settings.logdir, segment_bytes=settings.segment_bytes, age_s=settings.age_s, warn=warn
    )
    with compactor:
        if settings.once:
            compactor.drain()
            return
        stop = threading.Event()
        failed: list[Exception] = []
        receiving = _start_receiver(settings, fds, stop, failed)
        try:
            tell(state="ready")
            _compact(compactor, lambda: is_asked.is_set() or bool(failed))
        finally:
            stop.set()
            if receiving is not None:
                receiving.join()
        compactor.drain()
        if failed:
            raise RowsError(f"the receiver failed: {failed[0]!r:.500}") from failed[0]


def _start_receiver(
    settings: Settings, fds: list[int], stop: threading.Event, failed: list[Exception]
) -> threading.Thread | None:
    if not fds:
        return None
    listeners = [socket.socket(fileno=fd) for fd in fds]
    receiver = Receiver(Path(settings.logdir), listeners, token=settings.token, warn=warn)

    def receive() -> None:
        try:
            receiver.run(stop)
        except Exception as error:  # noqa: BLE001 - the loop ends with it, and says so
            failed.append(error)

    thread = threading.Thread(target=receive, name="holdfast-rows-accept")
    thread.start()
    return thread


def _compact(compactor: Compactor, is_over: Callable[[], bool]) -> None:
    """Until it is asked to end, or nobody is there any more who asks."""
    lines = Lines(0)
    pause_s = _TICK_S
    while not is_over():
        began_s = time.monotonic()
        is_new = compactor.tick()
        took_s = time.monotonic() - began_s
        pause_s = _TICK_S if is_new else min(2 * pause_s, _TICK_S_MAX)
        if is_new:
            pause_s = 0.0 if took_s > _TICK_S else _TICK_S
        else:
            pause_s = max(pause_s, _TICK_S, took_s * _TICK_SHARE)
        if not select.select([0], [], [], min(pause_s, 1.0))[0]:
            continue
        for line in lines.new():
            if line.startswith(b"flush "):
                compactor.drain()
                tell(state="flushed", number=int(line.split()[1]))
        if lines.is_over:
            return


if __name__ == "__main__":
    sys.exit(main())
