"""The receiver: keeps the logs of writers that reach us over a socket only."""

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.rows import layout, protocol
from holdfast.rows.errors import Refused, RowsError, Unwritable
from holdfast.rows.protocol import Broken
from holdfast.rows.remote_source import RemoteSource

CLIENTS_MAX = 256
STRANGERS_MAX = 32  # connected, and not proven to know the token yet
MEMORY_BYTES_MAX = 1 << 30  # of all groups on their way from a socket to a log
GREETING_S_MAX = 10.0
TAKE_OVER_S_MAX = 30.0
IDLE_S_MAX = 900.0  # a session without a connection keeps its log open so long
UNANSWERED_MAX = 64
UNANSWERED_BYTES_MAX = 16 << 20
ADDRESSES_TOLD_MAX = 1000
_TEXT_CHARS_MAX = 200
_LOOK_S = 0.2


class Receiver:
    """Listens on sockets that are bound already; one thread for each connection."""

    def __init__(
        self,
        logdir: Path,
        listeners: list[socket.socket],
        *,
        token: str | None,
        warn: Callable[[str], None],
        clients_max: int = CLIENTS_MAX,
    ) -> None:
        if token is None and any(one.family != socket.AF_UNIX for one in listeners):
            raise Refused("a receiver on TCP needs a token", do="give one, or use a unix socket")
        self._logdir = logdir
        self._listeners = listeners
        self._token = None if token is None else protocol.check_token(token)
        self._warn = warn
        self._clients_max = clients_max
        self._lock = threading.Lock()
        self._sources: dict[str, RemoteSource] = {}
        self._holders: dict[str, socket.socket] = {}
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._strangers = threading.BoundedSemaphore(STRANGERS_MAX)
        self._memory = _Room(MEMORY_BYTES_MAX)
        self._told: set[str] = set()
        self._is_stopped = False

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set; then every connection is closed, and every log ended."""
        try:
            while not stop.is_set():
                for listener in select.select(self._listeners, [], [], _LOOK_S)[0]:
                    with suppress(OSError):
                        self._admit(*listener.accept())
                self._end_idle()
        finally:
            self._close()

    def _admit(self, connection: socket.socket, address: Any) -> None:
        with self._lock:
            self._clients = {one: held for one, held in self._clients.items() if one.is_alive()}
            is_full = len(self._clients) >= self._clients_max
        if is_full or not self._strangers.acquire(blocking=False):
            self._warn_once("full", f"no more than {self._clients_max} writers are served at once")
            connection.settimeout(1.0)
            protocol.say_error(
                connection, Unwritable("there are too many writers", do="try again, or run another")
            )
            connection.close()
            return
        thread = threading.Thread(
            target=self._serve, args=(connection, _shown(address)), name="holdfast-rows-receive"
        )
        with self._lock:
            self._clients[thread] = connection
        thread.start()

    def _serve(self, connection: socket.socket, address: str) -> None:
        try:
            try:
                protocol.prepare(connection)
                connection.settimeout(GREETING_S_MAX)
                about, proof = self._greet(connection, address)
            finally:
                self._strangers.release()
            source = self._source(about, connection)
            try:
                told = {"folder": source.folder.name, "incarnation": source.incarnation}
                protocol.say(connection, protocol.WELCOME, 0, proof=proof, **told)
                connection.settimeout(None)
                self._receive(connection, source)
            except Unwritable:
                # Whatever is wrong with its log, the next connection begins with a new one. It
                # counts the rows in this one: what is to be cut off must be gone by then.
                with suppress(RowsError):
                    source.end()
                with self._lock:
                    self._sources.pop(str(about["session"]), None)
                raise
            finally:
                source.seen_s = time.monotonic()
                source.turn.release()
        except RowsError as error:
            self._warn_once(f"{address} {error.message}", f"{address}: {error}")
            protocol.say_error(connection, error)
        except OSError:
            pass  # the sender went away; it comes back if it has something to say
        finally:
            connection.close()

    def _greet(self, connection: socket.socket, address: str) -> tuple[dict[str, Any], str]:
        challenge = protocol.nonce()
        protocol.say(
            connection, protocol.CHALLENGE, version=protocol.VERSION, nonce=challenge,
            wants_token=self._token is not None,
        )  # fmt: skip
        kind, _, said = protocol.hear(connection)
        about, answer = said.get("about"), said.get("nonce")
        if kind != protocol.HELLO or not isinstance(about, dict) or not isinstance(answer, str):
            raise Broken("no sender of rows")
        if self._token is None:
            return _checked(about), ""
        wanted = protocol.proof(self._token, "sender", challenge, answer, about)
        if not protocol.is_proof(said.get("proof"), wanted):
            place = address.rpartition(":")[0] or address
            self._warn_once(f"token {place}", f"{place} has no token or a wrong one")
            protocol.say_error(
                connection, Refused("the token is wrong", do="give the one that serve was given")
            )
            raise Broken("a wrong token")
        return _checked(about), protocol.proof(self._token, "receiver", challenge, answer, about)

    def _source(self, about: dict[str, Any], connection: socket.socket) -> RemoteSource:
        """The source of this session, and its turn. A connection that was there before gives way.

        It is most likely dead without having noticed; what it had written is found in the log.
        """
        session = str(about["session"])
        with self._lock:
            if self._is_stopped:
                raise Broken("closing")
            before = self._holders.get(session)
            if before is not None:
                with suppress(OSError):
                    before.shutdown(socket.SHUT_RDWR)
            source = self._sources.get(session)
            if source is None:
                source = self._sources[session] = RemoteSource.opened(self._logdir, about)
            source.seen_s = time.monotonic()
        if not source.turn.acquire(timeout=TAKE_OVER_S_MAX):
            raise Unwritable(f"{about['task']} is still held by an older connection", do="wait")
        with self._lock:
            # Two that write for one session would make logs of the same number.
            is_given_up = self._sources.get(session) is not source
            if not is_given_up:
                self._holders[session] = connection
        if is_given_up:
            source.turn.release()
            raise Unwritable(f"a log of {about['task']} was given up", do="connect again")
        return source

    def _receive(self, connection: socket.socket, source: RemoteSource) -> None:
        unanswered = unanswered_bytes = last = 0
        while True:
            kind, number, length = protocol.receive_header(
                connection, length_max=protocol.GROUP_BYTES_MAX
            )
            with self._memory.taken(length):
                content = protocol.receive_bytes(connection, length)
                if not self._take(connection, source, kind, number, memoryview(content)):
                    continue
            last = max(last, number)
            unanswered += 1
            unanswered_bytes += length
            if (
                unanswered < UNANSWERED_MAX
                and unanswered_bytes < UNANSWERED_BYTES_MAX
                and select.select([connection], [], [], 0)[0]
            ):
                continue  # one answer, and one fdatasync, for all that is there already
            source.sync()
            if last:
                protocol.send(connection, protocol.ACKNOWLEDGED, last)
            unanswered = unanswered_bytes = 0

    def _take(
        self,
        connection: socket.socket,
        source: RemoteSource,
        kind: int,
        number: int,
        content: memoryview,
    ) -> bool:
        """Whether the message was done; a refusal is said at once, with its number."""
        try:
            match kind:
                case protocol.FRAMES | protocol.DECLARE:
                    source.take(content)
                case protocol.FLUSH:
                    source.flush()
                case protocol.END:
                    source.sync()
                    source.end()
                case _:
                    raise Broken(f"a message of kind {kind} that nobody expects")
        except Refused as error:
            # What came before it is safe, and the sender takes the refusal as the answer to all.
            source.sync()
            protocol.say(
                connection, protocol.REFUSED, number, error="Refused", message=error.message,
                do=error.do,
            )  # fmt: skip
            return False
        return True

    def _end_idle(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            for session, source in list(self._sources.items()):
                if now_s - source.seen_s > IDLE_S_MAX and source.turn.acquire(blocking=False):
                    del self._sources[session]
                    self._holders.pop(session, None)
                    with suppress(RowsError):
                        source.end()

    def _close(self) -> None:
        with self._lock:
            self._is_stopped = True
            clients = dict(self._clients)
        for connection in clients.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in clients:
            thread.join()
        for source in self._sources.values():
            with suppress(RowsError):
                source.end()

    def _warn_once(self, key: str, text: str) -> None:
        with self._lock:
            if key in self._told or len(self._told) >= ADDRESSES_TOLD_MAX:
                return
            self._told.add(key)
        self._warn(text)


class _Room:
    """Memory that all connections share: who finds none lets its sender wait."""

    def __init__(self, nbytes: int) -> None:
        self._free = nbytes
        self._turn = threading.Condition()

    def taken(self, nbytes: int) -> "_Taken":
        return _Taken(self, nbytes)

    def take(self, nbytes: int) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._free >= nbytes)
            self._free -= nbytes

    def give_back(self, nbytes: int) -> None:
        with self._turn:
            self._free += nbytes
            self._turn.notify_all()


class _Taken:
    def __init__(self, room: _Room, nbytes: int) -> None:
        self._room = room
        self._nbytes = nbytes

    def __enter__(self) -> None:
        self._room.take(self._nbytes)

    def __exit__(self, *_: object) -> None:
        self._room.give_back(self._nbytes)


def _checked(about: dict[str, Any]) -> dict[str, Any]:
    """What a sender says of itself, in bounds."""
    texts = {key: str(about.get(key, ""))[:_TEXT_CHARS_MAX] for key in ("host", "started")}
    task, session, ack = about.get("task"), about.get("session"), about.get("ack")
    pid = about.get("pid")
    if not isinstance(task, str):
        raise Refused("a sender without a task")
    layout.task_folder(task)
    is_session = isinstance(session, str) and len(session) == 32 and session.isalnum()  # noqa: PLR2004
    if not is_session or ack not in ("process", "disk"):
        raise Refused("a sender whose greeting is not understood")
    pid = pid if isinstance(pid, int) and 0 < pid < 1 << 32 else 0
    return {"task": task, "session": session, "ack": ack, "pid": pid, **texts}


def _shown(address: Any) -> str:
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return "unix socket"
