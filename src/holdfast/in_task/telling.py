"""Tells Holdfast how far the training is: small datagrams, dropped when nobody listens.

Nothing here raises, and nothing but `drain` waits: a program trains as well without us. A step
that is told costs less than a microsecond, and twice a second a datagram; of what did not get
through, the newest counts, so that nothing is ever queued.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import socket
from collections import deque
from time import monotonic, sleep
from typing import Any

from . import last_words, place

SEND_EVERY_S = 0.5
CONNECT_AGAIN_S = 2.0
DRAIN_EVERY_S = 0.01
VALUES_MAX, TEXT_MAX = 16, 64
WAITING_MAX = 16  # messages that must not be lost, until somebody listens
DATAGRAM_BYTES_MAX = 8_192
STEP_MAX = 2**53


def progress(step: Any, **values: Any) -> None:
    """The training is at this step; `values` are numbers such as the loss.

    For loops of one's own, in TensorFlow, PyTorch or JAX. Tensors are read only when a datagram
    is due, at most twice a second, for reading one may wait for a device.
    """
    _teller.step(step, values)


class Teller:
    """The way to whoever watches this task; without a folder there is nobody."""

    def __init__(self, folder: str, task: str) -> None:
        self._folder = folder
        self._task = task
        self._socket: socket.socket | None = None
        self._identity: tuple[int, int] = (0, 0)
        self._due_s = 0.0 if folder and task else math.inf
        self._connect_s = 0.0
        self._waiting: deque[bytes] = deque(maxlen=WAITING_MAX)
        self._told: tuple[float, int] | None = None  # when, and which step
        self._values: dict[str, Any] = {}
        self._by = "program"
        self._step: Any = None
        self._request = f"{folder}/profile.{place.file_stem(task)}.request.json"
        self.dropped = 0

    @property
    def last_step(self) -> int | None:
        """The newest step that anybody has told."""
        return _whole(self._step)

    def step(self, step: Any, values: dict[str, Any], by: str = "program") -> None:
        self._step, self._values, self._by = step, values, by
        now_s = monotonic()
        if now_s >= self._due_s:
            self._tell_step(now_s)

    def say(self, message: dict[str, Any]) -> None:
        """Something that happens once: kept until somebody listens."""
        if self._folder and self._task:
            self._waiting.append(self._encoded(message))
            self._send_waiting()

    def drain(self, within_s: float) -> None:
        """Waits until what must not be lost is on its way: for who may end right after it."""
        until_s = monotonic() + within_s
        while self._waiting and self._socket is not None and monotonic() < until_s:
            sleep(DRAIN_EVERY_S)  # whoever listens has more to do, and its queue is short
            self._send_waiting()

    def flush(self) -> None:
        """The newest step, whenever the last one was told."""
        if self._step is not None and self._due_s != math.inf:
            self._tell_step(monotonic())

    def _tell_step(self, now_s: float) -> None:
        self._due_s = now_s + SEND_EVERY_S
        step = _whole(self._step)
        if step is None:
            return
        told, pace_s = self._told, 0.0
        if told is not None and step > told[1]:
            pace_s = (now_s - told[0]) / (step - told[1])
        finite, nan = _numbers(self._values)
        self._told = (now_s, step)
        message = {"is": "step", "step": step, "step_s": round(pace_s, 6), "by": self._by}
        self._send_waiting()
        self._send(self._encoded({**message, "values": finite, "nan": nan}))
        if _is_there(self._request):
            self._profile()

    def _profile(self) -> None:
        from . import profiling  # noqa: PLC0415 - hardly ever wanted

        profiling.begin(self._folder, self._task, lambda: self.last_step)

    def _encoded(self, message: dict[str, Any]) -> bytes:
        return json.dumps({"task": self._task, **message}).encode()

    def _send_waiting(self) -> None:
        while self._waiting and self._send(self._waiting[0]):
            self._waiting.popleft()

    def _send(self, message: bytes) -> bool:
        """Whether it is on its way."""
        try:
            if len(message) <= DATAGRAM_BYTES_MAX and self._reach():
                assert self._socket is not None
                self._socket.send(message, socket.MSG_DONTWAIT)
                return True
        except BlockingIOError:  # its queue is full: the next one will tell more
            pass
        except OSError:  # it is gone; another one may come
            self._leave()
        self.dropped += 1
        # One that can never be sent must not stand in the way of the others.
        return len(message) > DATAGRAM_BYTES_MAX

    def _reach(self) -> bool:
        if self._socket is not None and _identity(self._socket.fileno()) != self._identity:
            # The program has closed our descriptor: what has its number now is not ours.
            self._socket.detach()
            self._socket = None
        if self._socket is None and monotonic() >= self._connect_s:
            self._connect_s = monotonic() + CONNECT_AGAIN_S
            self._socket = _connected(self._folder)
            self._identity = _identity(self._socket.fileno())
        return self._socket is not None

    def _leave(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _connected(folder: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = folder + "/" + place.SOCKET
    try:
        if len(os.fsencode(path)) <= place.PATH_BYTES_MAX:
            made.connect(path)
        else:  # through a descriptor every path is short
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                made.connect("/proc/self/fd/%d/%s" % (fd, place.SOCKET))  # noqa: UP031
            finally:
                os.close(fd)
    except OSError:
        made.close()
        raise
    return made


def _is_there(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - no pathlib here
    except OSError:
        return False
    return True


def _identity(fd: int) -> tuple[int, int]:
    try:
        found = os.fstat(fd)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _whole(step: Any) -> int | None:
    try:
        return min(max(int(step), 0), STEP_MAX)
    except Exception:  # noqa: BLE001 - whatever it is, it is no number
        return None


def _numbers(values: dict[str, Any]) -> tuple[dict[str, float], list[str]]:
    """Those that are numbers, and the names of those that are NaN or infinite."""
    finite: dict[str, float] = {}
    nan: list[str] = []
    for name, value in list(values.items())[:VALUES_MAX]:
        try:
            number = float(value)
        except Exception:  # noqa: BLE001 - a text, or a tensor with many values
            continue
        short = str(name)[:TEXT_MAX]
        if math.isfinite(number):
            finite[short] = number
        else:
            nan.append(short)
    return finite, nan


_teller = Teller(place.folder(), place.task())
last_words.watch_threads()
atexit.register(_teller.flush)


def teller() -> Teller:
    """The one of this process."""
    return _teller
