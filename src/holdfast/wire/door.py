"""The supervisor's door: a Unix socket in the run directory, for its owner only."""

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import msgspec

from holdfast.model.errors import Unreachable
from holdfast.model.facts import Fact, SignalAsked, StopAsked
from holdfast.model.orders import Order
from holdfast.model.recovery_facts import RemedyAnswered

NAME = "control.sock"
CALLERS_MAX = 16
REQUEST_BYTES_MAX = 4_096
ANSWER_S_MAX = 5.0


class Request(msgspec.Struct):
    """What somebody outside may ask for."""

    ask: Literal["stop", "kill", "signal", "answer"]
    by: str
    signal: Annotated[int, msgspec.Meta(ge=1, le=64)] = 15
    yes: bool = False  # of an answer


class Door:
    """Listens. Whoever may open the run directory may ask."""

    def __init__(self, dir_fd: int, where: Callable[[], dict[str, Any]]) -> None:
        self._where = where
        self._dir_fd = dir_fd
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        _remove_left_door(dir_fd)
        old_mask = os.umask(0o177)
        try:
            self._socket.bind(_path(dir_fd))
        finally:
            os.umask(old_mask)
        self._socket.listen(CALLERS_MAX)
        self._socket.setblocking(False)  # noqa: FBT003 - its only way

    def waitables(self) -> dict[int, Callable[[], Iterator[list[Fact]]]]:
        return {self._socket.fileno(): self._answer}

    def look(self) -> Iterator[list[Fact]]:
        return iter(())

    def obey(self, order: Order) -> Iterator[list[Fact]]:
        return iter(())

    def knock(self, request: Request) -> None:
        """Ask from inside, as a signal handler does: answered with the others, in turn."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            caller.setblocking(False)  # noqa: FBT003
            with contextlib.suppress(OSError):  # too many wait already
                caller.connect(_path(self._dir_fd))
                caller.send(msgspec.json.encode(request))

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):
            os.unlink(NAME, dir_fd=self._dir_fd)

    def _answer(self) -> Iterator[list[Fact]]:
        try:
            caller, _ = self._socket.accept()
        except OSError:
            return
        with caller:
            caller.settimeout(ANSWER_S_MAX / 10)
            try:
                request = msgspec.json.decode(caller.recv(REQUEST_BYTES_MAX), type=Request)
            except (OSError, msgspec.MsgspecError) as error:
                _say(caller, f"not understood: {error}")
                return
            if _uid_of(caller) not in {os.getuid(), 0}:
                _say(caller, "not allowed: this job belongs to another user")
                return
            yield [self._fact(request)]
            _say(caller, "ok")

    def _fact(self, request: Request) -> Fact:
        by = request.by[:80]
        if request.ask == "answer":
            return RemedyAnswered(by=by, yes=request.yes, **self._where())
        if request.ask == "signal":
            return SignalAsked(by=by, signal=request.signal, **self._where())
        now = request.ask == "kill"
        return StopAsked(by=by, signal=request.signal, now=now, **self._where())


def ask(dir_fd: int, request: Request) -> None:
    """Knock at a supervisor's door; returns when it has the request in its journal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
        caller.settimeout(ANSWER_S_MAX)
        try:
            caller.connect(_path(dir_fd))
            caller.send(msgspec.json.encode(request))
            answer = caller.recv(REQUEST_BYTES_MAX).decode("utf-8", "replace")
        except OSError as error:
            raise Unreachable(
                f"the supervisor of this run does not answer ({error.strerror or error})",
                do="the run may be over: holdfast diagnose RUN_DIR shows how it ended; if its"
                " supervisor was killed, holdfast attach RUN_DIR takes it over",
            ) from error
    if answer != "ok":
        raise Unreachable(f"the supervisor of this run refused: {answer}")


def _remove_left_door(dir_fd: int) -> None:
    """Of a supervisor that was killed: whoever opens a door here holds the journal."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(NAME, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            os.unlink(NAME, dir_fd=dir_fd)


def _path(dir_fd: int) -> str:
    """By way of the directory's descriptor: the path itself may be too long for a socket."""
    return f"/proc/self/fd/{dir_fd}/{NAME}"


def _say(caller: socket.socket, words: str) -> None:
    with contextlib.suppress(OSError):
        caller.send(words.encode())


def _uid_of(caller: socket.socket) -> int:
    size = struct.calcsize("3i")
    credentials = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", credentials)
    return int(uid)
