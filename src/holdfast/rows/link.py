"""The sender's side of a connection: a bounded queue of what is not acknowledged yet.

There is no thread: whoever waits for an acknowledgement sends what is to be sent, for all, and
reads what comes back. A connection that breaks is made again, and all that was not acknowledged
is sent again; the receiver knows rows by their numbers and drops what it has.
"""

import logging
import random
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from holdfast.rows import protocol
from holdfast.rows.errors import Refused, RowsError, Unwritable
from holdfast.rows.protocol import Address, Broken

QUEUE_BYTES_MAX = 64 << 20
PATIENCE_S = 300.0
GOODBYE_S = 10.0
_SILENCE_S_MAX = 30.0  # one call on the socket
_LOOK_S = 0.5
_SAY_AFTER_S = 2.0
_BACKOFF_S = (0.05, 5.0)

_log = logging.getLogger("holdfast.rows")


class _Message:
    __slots__ = ("content", "is_sent", "kind", "nbytes", "number")

    def __init__(self, number: int, kind: int, content: list[bytes]) -> None:
        self.number = number
        self.kind = kind
        self.content = content
        self.nbytes = sum(map(len, content))
        self.is_sent = False


class Link:
    """Numbers messages, and tells when each is acknowledged. Any thread may call."""

    def __init__(
        self,
        address: Address,
        about: Mapping[str, Any],
        *,
        token: str | None,
        queue_bytes_max: int,
        patience_s: float,
        again: Callable[[], Iterable[list[bytes]]],
    ) -> None:
        """`again`: the declarations, which go first over each new connection."""
        self.address = address
        self.welcome: dict[str, Any] = {}
        self._about = dict(about)
        self._token = token
        self._queue_bytes_max = queue_bytes_max
        self._patience_s = patience_s
        self._again = again
        self._turn = threading.Condition(threading.Lock())
        self._pending: deque[_Message] = deque()
        self._pending_bytes = 0
        self._number = 0
        self._acknowledged = 0
        self._refused: dict[int, RowsError] = {}
        self._failure: RowsError | None = None
        self._is_driven = False
        self._socket: socket.socket | None = None
        self._progress_s = time.monotonic()
        self._has_said = False
        self._backoff_s = _BACKOFF_S[0]
        self._trouble = "it did not answer"

    @property
    def number(self) -> int:
        """Of the last message that was put."""
        return self._number

    def connect(self) -> None:
        """Returns when the receiver has said welcome; raises what it says instead."""
        self._driven(lambda: self._socket is not None)

    def put(self, kind: int, content: list[bytes]) -> int:
        """Queues a message; waits while the queue is full."""
        nbytes = sum(map(len, content))
        while True:
            with self._turn:
                self._check()
                if not self._pending or self._pending_bytes + nbytes <= self._queue_bytes_max:
                    if not self._pending:
                        self._progress_s = time.monotonic()
                    self._number += 1
                    self._pending.append(_Message(self._number, kind, content))
                    self._pending_bytes += nbytes
                    return self._number
                oldest = self._pending[0].number
            with suppress(Refused):  # of another message: whoever waits for it hears of it
                self._wait(oldest, takes_refusal=False)

    def wait(self, number: int) -> None:
        """Returns when this message and all before are acknowledged; raises why it is not."""
        self._wait(number, takes_refusal=True)

    def close(self, *, patience_s: float = GOODBYE_S) -> None:
        """Says good-bye, as long as somebody listens; all that was waited for is safe anyway."""
        self._patience_s = min(self._patience_s, patience_s)
        try:
            if self._failure is None:
                self.wait(self.put(protocol.END, []))
        finally:
            self.stop(Refused("the writer is closed", do="open another"))

    def stop(self, why: RowsError) -> None:
        with self._turn:
            self._failure = self._failure or why
            self._turn.notify_all()
        self._disconnect()

    def _wait(self, number: int, *, takes_refusal: bool) -> None:
        self._driven(lambda: self._acknowledged >= number)
        with self._turn:
            error = self._refused.pop(number, None) if takes_refusal else None
        if error is not None:
            raise error

    def _driven(self, is_done: Callable[[], bool]) -> None:
        while True:
            with self._turn:
                while self._is_driven and not is_done() and self._failure is None:
                    self._turn.wait()
                if is_done():
                    return
                self._check()
                self._is_driven = True
            try:
                self._drive()
            finally:
                with self._turn:
                    self._is_driven = False
                    self._turn.notify_all()

    def _check(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(self._failure.message, do=self._failure.do)

    def _drive(self) -> None:
        """One step for all who wait: connect, send, or hear what comes back."""
        try:
            if self._socket is None:
                self._socket = self._connected()
                return
            with self._turn:
                unsent = [message for message in self._pending if not message.is_sent]
            for message in unsent:
                protocol.send(self._socket, message.kind, message.number, message.content)
                message.is_sent = True
            if self._pending and select.select([self._socket], [], [], _LOOK_S)[0]:
                self._hear(self._socket)
            self._be_patient()
        except OSError as error:
            self._lose(error)
        except RowsError as error:
            if not isinstance(error, Unwritable):
                self.stop(error)
                raise
            self._lose(error)

    def _hear(self, connection: socket.socket) -> None:
        kind, number, content = protocol.hear(connection)
        if kind == protocol.ACKNOWLEDGED:
            self._forget_upto(number)
        elif kind == protocol.REFUSED and number:
            error = protocol.error_of(content)
            with self._turn:
                self._refused[number] = error
                message = next((one for one in self._pending if one.number == number), None)
            self._forget_upto(number)
            if message is not None and message.kind == protocol.FRAMES:
                self.stop(error)
        elif kind == protocol.REFUSED:
            raise protocol.error_of(content)
        else:
            raise Broken(f"the receiver sent a message of kind {kind} that nobody expects")

    def _forget_upto(self, number: int) -> None:
        with self._turn:
            while self._pending and self._pending[0].number <= number:
                self._pending_bytes -= self._pending.popleft().nbytes
            self._acknowledged = max(self._acknowledged, number)
            self._turn.notify_all()
        if self._has_said:
            waited_s = time.monotonic() - self._progress_s
            _log.warning("%s acknowledges again, after %.1f s", self.address, waited_s)
        self._progress_s = time.monotonic()
        self._has_said = False
        self._backoff_s = _BACKOFF_S[0]

    def _connected(self) -> socket.socket:
        connection = self.address.connect(wait_s=min(_SILENCE_S_MAX, self._patience_s))
        try:
            connection.settimeout(_SILENCE_S_MAX)
            self._greet(connection)
            for content in self._again():
                protocol.send(connection, protocol.DECLARE, 0, content)
        except BaseException:
            connection.close()
            raise
        with self._turn:
            for message in self._pending:
                message.is_sent = False
        return connection

    def _greet(self, connection: socket.socket) -> None:
        kind, _, said = protocol.hear(connection)
        if kind == protocol.REFUSED:
            raise protocol.error_of(said)
        challenge = said.get("nonce")
        if kind != protocol.CHALLENGE or not isinstance(challenge, str):
            raise Broken("no receiver of rows answers there")
        if said.get("version") != protocol.VERSION:
            raise Refused(
                f"{self.address} speaks version {said.get('version')!r:.20} of the protocol, "
                f"we speak {protocol.VERSION}",
                do="install the same version of Holdfast on both sides",
            )
        if said.get("wants_token") and not self._token:
            raise Refused(f"{self.address} wants a token", do="give the one that serve was given")
        answer = protocol.nonce()
        token = self._token or ""
        given = protocol.proof(token, "sender", challenge, answer, self._about) if token else ""
        protocol.say(connection, protocol.HELLO, nonce=answer, proof=given, about=self._about)
        kind, _, said = protocol.hear(connection)
        if kind == protocol.REFUSED:
            raise protocol.error_of(said)
        wanted = protocol.proof(token, "receiver", challenge, answer, self._about)
        if kind != protocol.WELCOME or (token and not protocol.is_proof(said.get("proof"), wanted)):
            raise Refused(
                f"{self.address} does not know the token: it is not our receiver",
                do="look at who listens there",
            )
        self.welcome = said

    def _lose(self, error: Exception) -> None:
        """The connection is gone. Wait a little, then let the next step make it again."""
        self._trouble = str(error) or type(error).__name__
        self._disconnect()
        self._be_patient()
        pause_s = self._backoff_s * random.uniform(0.5, 1.5)
        self._backoff_s = min(2 * self._backoff_s, _BACKOFF_S[1])
        left_s = self._patience_s - (time.monotonic() - self._progress_s)
        time.sleep(max(0.0, min(pause_s, left_s)))

    def _be_patient(self) -> None:
        """Says once that it takes long; in the end, gives up."""
        waited_s = time.monotonic() - self._progress_s
        if waited_s > _SAY_AFTER_S and not self._has_said:
            self._has_said = True
            _log.warning(
                "rows wait since %.1f s for %s to acknowledge %d bytes (%s); append blocks, and "
                "gives up after %g s",
                waited_s, self.address, self._pending_bytes, self._trouble, self._patience_s,
            )  # fmt: skip
        if waited_s > self._patience_s:
            error = Unwritable(
                f"{self.address} acknowledged nothing for {waited_s:.0f} s: {self._trouble}; rows "
                "acknowledged before stay",
                do="see that `holdfast rows serve` runs there, then open a new writer",
            )
            self.stop(error)
            self._check()

    def _disconnect(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()
