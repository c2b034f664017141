"""Keeps the compactor and receiver running: starts them, and again when they die."""

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from holdfast.rows import protocol
from holdfast.rows.errors import Refused, unwritable
from holdfast.rows.protocol import Address
from holdfast.rows.serve_settings import FAILED_CODE, HELD_CODE, Lines, Settings, warn

RESTART_S = (0.1, 30.0)
STEADY_S = 60.0  # after so long a life, the next death is the first again
STOP_S_MAX = 600.0  # for what is still to be published; rows are safe in their logs anyway
WAITING_CONNECTIONS_MAX = 128

Tell = Callable[[dict[str, Any]], None]


def supervise(settings: Settings, *, tell: Tell, lifeline: int | None = None) -> int:
    """Until SIGTERM, SIGINT or the end of `lifeline`; returns the exit code.

    The sockets are ours: while the receiver is started again, connections wait in them.
    """
    if settings.token is not None:
        protocol.check_token(settings.token)
    with _bound([Address.parse(text) for text in settings.listen]) as (listeners, addresses):
        if settings.token is None and any(one.family != socket.AF_UNIX for one in listeners):
            raise Refused("a receiver on TCP needs a token", do="give one, or use a unix socket")
        with _signals() as asked:
            return _Supervisor(
                settings, listeners, addresses, tell=tell, lifeline=lifeline, asked=asked
            ).run()


class _Supervisor:
    def __init__(
        self,
        settings: Settings,
        listeners: list[socket.socket],
        addresses: list[str],
        *,
        tell: Tell,
        lifeline: int | None,
        asked: int,
    ) -> None:
        self._settings = settings
        self._listeners = listeners
        self._addresses = addresses
        self._tell = tell
        self._lifeline = lifeline
        self._asked = asked
        self._orders = Lines(lifeline) if lifeline is not None else None
        self._flushes: list[bytes] = []
        self._is_over = False
        self._has_given_up = False

    def run(self) -> int:
        pause_s = RESTART_S[0]
        while True:
            began_s = time.monotonic()
            is_last = self._is_over
            code = self._run_once()
            if code in (0, HELD_CODE):
                return code
            if is_last or self._has_given_up:
                warn(
                    f"the compactor ended with code {code} before all was published; the rest is "
                    f"safe in its logs: holdfast rows serve {self._settings.logdir} --once"
                )
                return code if code > 0 else FAILED_CODE
            if time.monotonic() - began_s > STEADY_S:
                pause_s = RESTART_S[0]
            warn(f"the compactor ended with code {code}; it is started again in {pause_s:g} s")
            self._tell({"state": "restarting", "code": code})
            # Whoever ends us wants all to be published: the dead one has not done that.
            self._is_over = self._is_over or self._is_asked(pause_s)
            pause_s = min(2 * pause_s, RESTART_S[1])

    def _run_once(self) -> int:
        fds = [one.fileno() for one in self._listeners]
        child = subprocess.Popen(
            [sys.executable, "-m", "holdfast.rows.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=fds,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child, child.stdin, child.stdout:
            _write(child.stdin.fileno(), self._settings.to_line(fds))
            for order in self._flushes:
                _write(child.stdin.fileno(), order)
            try:
                self._watch(child, child.stdin.fileno(), child.stdout.fileno())
            except BaseException:
                child.terminate()
                raise
            if self._is_over:
                # Not by a signal, which would kill one that has just begun.
                child.stdin.close()
                try:
                    child.wait(STOP_S_MAX)
                except subprocess.TimeoutExpired:
                    self._has_given_up = True
                    child.kill()
            return child.wait()

    def _watch(self, child: subprocess.Popen[bytes], orders: int, said: int) -> None:
        """Until the child ends, or we are asked to."""
        lines = Lines(said)
        watched = [said, self._asked, *([] if self._lifeline is None else [self._lifeline])]
        while not self._is_over:
            ready = select.select(watched, [], [])[0]
            if said in ready:
                for line in lines.new():
                    self._hear(line, child.pid)
                if lines.is_over:
                    return
            if self._asked in ready:
                self._is_over = True
            if self._lifeline in ready and self._orders is not None:
                for order in self._orders.new():
                    self._flushes.append(order + b"\n")
                    _write(orders, order + b"\n")
                self._is_over = self._is_over or self._orders.is_over

    def _hear(self, line: bytes, pid: int) -> None:
        told = json.loads(line)
        if told.get("state") == "flushed":
            self._flushes = [
                order for order in self._flushes if order != b"flush %d\n" % told["number"]
            ]
        if told.get("state") == "ready":
            told |= {"addresses": self._addresses, "pid": pid}
        self._tell(told)

    def _is_asked(self, wait_s: float) -> bool:
        watched = [self._asked, *([] if self._lifeline is None else [self._lifeline])]
        if not select.select(watched, [], [], wait_s)[0]:
            return False
        if self._orders is not None and select.select(watched[1:], [], [], 0)[0]:
            self._flushes += [order + b"\n" for order in self._orders.new()]
            if not self._orders.is_over and not select.select([self._asked], [], [], 0)[0]:
                return False
        return True


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor that becomes readable when we are asked to end."""
    hears, says = os.pipe()
    os.set_blocking(says, False)

    def ask(*_: object) -> None:
        with suppress(BlockingIOError):
            os.write(says, b"x")

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield hears
    finally:
        for number, act in before.items():
            signal.signal(number, act)
        os.close(hears)
        os.close(says)


@contextmanager
def _bound(addresses: list[Address]) -> Iterator[tuple[list[socket.socket], list[str]]]:
    made: list[socket.socket] = []
    paths: list[Path] = []
    shown: list[str] = []
    try:
        for address in addresses:
            made.append(_listener(address))
            if address.path:
                paths.append(Path(address.path))
                shown.append(str(address))
            else:
                shown.append(str(Address(host=address.host, port=made[-1].getsockname()[1])))
        yield made, shown
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
        for one in made:
            one.close()


def _listener(address: Address) -> socket.socket:
    try:
        if not address.path:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            return socket.create_server(
                (address.host, address.port), family=family, backlog=WAITING_CONNECTIONS_MAX
            )
        _remove_left(Path(address.path))
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        old = os.umask(0o177)  # only this user's processes may connect
        try:
            made.bind(address.path)
        finally:
            os.umask(old)
        made.listen(WAITING_CONNECTIONS_MAX)
    except OSError as error:
        raise unwritable(str(address), error, do="choose another address") from error
    return made


def _remove_left(path: Path) -> None:
    """A socket that nobody listens on any more; anything else stays, and binding fails."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)


def _write(fd: int, content: bytes) -> None:
    with suppress(BrokenPipeError):  # it died: its end is seen where it is waited for
        os.write(fd, content)


def main() -> int:
    """For a program that wants a central writer beside it: see center.py."""
    settings, _ = Settings.from_line(Lines(0).first())

    def tell(content: dict[str, Any]) -> None:
        _write(1, json.dumps(content).encode() + b"\n")

    return supervise(settings, tell=tell, lifeline=0)


if __name__ == "__main__":
    sys.exit(main())
