"""What a sender and a receiver of rows say to each other over a socket.

Each message is a header of 24 bytes (magic, kind, number, length) and its content: JSON, or frames
exactly as they go into the log. The token never travels: each side proves that it knows it by an
HMAC over both sides' nonces. What travels is not encrypted: across hosts that you do not trust,
go through a tunnel (ssh -L) to the unix socket.
"""

import hmac
import json
import secrets
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from holdfast.rows.errors import Held, Refused, RowsError, Unwritable

VERSION = 1
CHALLENGE, HELLO, WELCOME, REFUSED, DECLARE, FRAMES, FLUSH, END, ACKNOWLEDGED = range(1, 10)
TALK_BYTES_MAX = 1 << 16
GROUP_BYTES_MAX = 256 << 20  # one append over the network, frames and all
TOKEN_CHARS_MIN = 16
NONCE_BYTES = 32
_MAGIC = b"HFT1"
_HEADER = struct.Struct("<4sB3xQQ")
HEADER_BYTES = _HEADER.size
_PORT_MAX = 65_535
_SOCKET_PATH_BYTES_MAX = 107
_PIECES_MAX = 512
_ERRORS: dict[str, type[RowsError]] = {
    kind.__name__: kind for kind in (Refused, Held, Unwritable, RowsError)
}


class Broken(OSError):  # noqa: N818 - reads as what it says
    """The connection ended, or says what nobody understands."""


@dataclass(frozen=True)
class Address:
    """Where a receiver listens: a host and a port, or the path of a unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix://{self.path}"
        return f"tcp://[{self.host}]:{self.port}" if ":" in self.host else (
            f"tcp://{self.host}:{self.port}"
        )  # fmt: skip

    @classmethod
    def parse(cls, text: str) -> "Address":
        """tcp://host:port, tcp://[::1]:port or unix:///path."""
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if plain and parts.scheme == "tcp" and parts.hostname and port is not None:
            if parts.path in ("", "/"):
                return cls(host=parts.hostname, port=port)
        elif plain and parts.scheme == "unix" and not parts.netloc and len(parts.path) > 1:
            if len(parts.path.encode()) > _SOCKET_PATH_BYTES_MAX:
                raise Refused(
                    f"the socket's path {parts.path:.200} is longer than 107 bytes",
                    do="choose a shorter one, below /tmp or /run",
                )
            return cls(path=parts.path)
        raise Refused(
            f"{text!r:.200} is no address of a receiver",
            do="write tcp://host:port or unix:///path/of/socket",
        )

    def connect(self, *, wait_s: float) -> socket.socket:
        if self.path:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.settimeout(wait_s)
                made.connect(self.path)
            except BaseException:
                made.close()
                raise
            return made
        made = socket.create_connection((self.host, self.port), timeout=wait_s)
        prepare(made)
        return made


def is_address(text: object) -> bool:
    return isinstance(text, str) and text.startswith(("tcp:", "unix:"))


def prepare(connection: socket.socket) -> None:
    """Small messages leave at once, and a peer that vanished is noticed."""
    if connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)


def nonce() -> str:
    return secrets.token_hex(NONCE_BYTES)


def check_token(token: str) -> str:
    if len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable():
        raise Refused(
            f"a token has at least {TOKEN_CHARS_MIN} printable ASCII characters",
            do="make one with: python -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return token


def proof(token: str, role: str, challenge: str, answer: str, about: Mapping[str, Any]) -> str:
    """What only somebody with the token can say, about this conversation and this writer."""
    said = json.dumps([role, challenge, answer, sorted(about.items())]).encode()
    return hmac.new(token.encode(), said, "sha256").hexdigest()


def is_proof(given: object, wanted: str) -> bool:
    return isinstance(given, str) and secrets.compare_digest(given.encode(), wanted.encode())


def send(
    connection: socket.socket, kind: int, number: int = 0, content: list[bytes] | None = None
) -> None:
    """One message, whole; `content` goes out as it lies, without being copied together."""
    pieces = [memoryview(piece).cast("B") for piece in content or [] if len(piece)]
    length = sum(piece.nbytes for piece in pieces)
    pieces.insert(0, memoryview(_HEADER.pack(_MAGIC, kind, number, length)))
    while pieces:
        sent = connection.sendmsg(pieces[:_PIECES_MAX])
        while pieces and sent >= pieces[0].nbytes:
            sent -= pieces.pop(0).nbytes
        if sent:
            pieces[0] = pieces[0][sent:]


def say(connection: socket.socket, kind: int, number: int = 0, **content: Any) -> None:
    send(connection, kind, number, [json.dumps(content).encode()])


def receive_header(connection: socket.socket, *, length_max: int) -> tuple[int, int, int]:
    """Kind, number and length of the next message; nothing longer is even begun."""
    magic, kind, number, length = _HEADER.unpack(receive_bytes(connection, HEADER_BYTES))
    if magic != _MAGIC:
        raise Broken("the other side does not speak as a Holdfast of this version does")
    if length > length_max:
        raise Broken(f"a message of {length} bytes where at most {length_max} are taken")
    return kind, number, length


def receive_bytes(connection: socket.socket, length: int) -> bytearray:
    content = bytearray(length)
    view = memoryview(content)
    while view:
        got = connection.recv_into(view)
        if not got:
            raise Broken("the connection ended")
        view = view[got:]
    return content


def hear(connection: socket.socket) -> tuple[int, int, dict[str, Any]]:
    """The next message, whose content is JSON or nothing."""
    kind, number, length = receive_header(connection, length_max=TALK_BYTES_MAX)
    content = receive_bytes(connection, length)
    try:
        found = json.loads(content) if content else {}
    except (ValueError, RecursionError) as error:
        raise Broken("the other side sent what is not JSON") from error
    if not isinstance(found, dict):
        raise Broken("the other side sent JSON that is no object")
    return kind, number, found


def say_error(connection: socket.socket, error: RowsError) -> None:
    """Whoever is refused hears why, if it still listens."""
    name = type(error).__name__ if type(error).__name__ in _ERRORS else "RowsError"
    with suppress(OSError):
        say(connection, REFUSED, 0, error=name, message=error.message[:2000], do=error.do[:2000])


def error_of(content: Mapping[str, Any]) -> RowsError:
    """The error that a receiver spoke of."""
    kind = _ERRORS.get(str(content.get("error")), RowsError)
    return kind(
        f"the receiver says: {content.get('message', 'nothing')!s:.2000}",
        do=str(content.get("do", ""))[:2000],
    )
