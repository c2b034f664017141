"""Connects to one IP address and greets it as HTTP/2 does, to hear who would answer.

Cheaper than gRPC by far, and exact where gRPC is vague: who refuses, who is silent, who
speaks something else. Never reads more than a few bytes.
"""

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.model.path import Outcome
from holdfast.probes.paths.tf_server import one_line

FRAME_HEADER_BYTES = 9
_SETTINGS = 4  # the frame that every HTTP/2 server sends first
_SHOWN_BYTES = 40
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake

_MEANING = {
    errno.ECONNREFUSED: Outcome.REFUSED,
    errno.ECONNRESET: Outcome.RESET,
    errno.ECONNABORTED: Outcome.RESET,
    errno.EPIPE: Outcome.RESET,
    errno.ENETUNREACH: Outcome.UNREACHABLE,
    errno.EHOSTUNREACH: Outcome.UNREACHABLE,
    errno.ENETDOWN: Outcome.UNREACHABLE,
    errno.EHOSTDOWN: Outcome.UNREACHABLE,
    errno.EACCES: Outcome.UNREACHABLE,  # a route that prohibits
    errno.EPERM: Outcome.UNREACHABLE,  # a rule of our own firewall
    errno.EAFNOSUPPORT: Outcome.UNREACHABLE,  # IPv6, on a host without it
    errno.ETIMEDOUT: Outcome.FILTERED,
}


@dataclass(frozen=True, slots=True)
class Touch:
    """What one IP address made of us; ANSWERED means no more than that it speaks HTTP/2."""

    outcome: Outcome
    says: str = ""


async def touch(
    family: socket.AddressFamily, where: tuple[Any, ...], *, connect_s: float, answer_s: float
) -> Touch:
    """Connect, greet and listen, each with its own time."""
    heard = b""
    try:
        async with connected(family, where, connect_s=connect_s) as link:
            heard = await _first_bytes(link, _HELLO, answer_s=answer_s)
        if not heard and await _speaks_tls(family, where, connect_s=connect_s, answer_s=answer_s):
            return Touch(Outcome.NOT_GRPC, "it speaks TLS, which TensorFlow's servers do not")
    except NotConnected as error:
        return error.touch
    except TimeoutError:
        return Touch(Outcome.STALLED, f"connected, and no word in {answer_s:g} s")
    if not heard:
        return Touch(Outcome.RESET, "connected, and closed by the other side without a word")
    return Touch(Outcome.ANSWERED) if _is_settings(heard) else _something_else(heard)


class NotConnected(Exception):  # noqa: N818 - reads as what it says
    """Why there is no connection, as a Touch."""

    def __init__(self, touch: Touch) -> None:
        super().__init__(touch.says)
        self.touch = touch


@contextlib.asynccontextmanager
async def connected(
    family: socket.AddressFamily, where: tuple[Any, ...], *, connect_s: float
) -> AsyncIterator[socket.socket]:
    """A TCP connection, or NotConnected."""
    loop = asyncio.get_running_loop()
    try:
        link = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise NotConnected(_failed(error)) from error
    with link:
        link.setblocking(False)  # noqa: FBT003 - as the library has it
        try:
            async with asyncio.timeout(connect_s):
                await loop.sock_connect(link, where)
        except TimeoutError as error:
            says = f"no answer to a TCP connection in {connect_s:g} s"  # ETIMEDOUT is one, too
            raise NotConnected(Touch(Outcome.FILTERED, says)) from error
        except OSError as error:
            raise NotConnected(_failed(error)) from error
        if _is_connected_to_itself(link):
            raise NotConnected(Touch(Outcome.REFUSED, os.strerror(errno.ECONNREFUSED)))
        yield link


def _failed(error: OSError) -> Touch:
    """In the kernel's words: asyncio has its own, which tell less."""
    outcome = _MEANING.get(error.errno or 0, Outcome.BLIND)
    return Touch(outcome, os.strerror(error.errno) if error.errno else one_line(str(error)))


def _is_connected_to_itself(link: socket.socket) -> bool:
    """On one host, the kernel may choose for us the very port that we ask for: nobody is there."""
    with contextlib.suppress(OSError):
        return bool(link.getsockname() == link.getpeername())
    return False


async def _first_bytes(link: socket.socket, hello: bytes, *, answer_s: float) -> bytes:
    """Enough of the answer to judge it; empty when the other side closed or reset."""
    loop = asyncio.get_running_loop()
    heard = b""
    try:
        async with asyncio.timeout(answer_s):
            await loop.sock_sendall(link, hello)
            while len(heard) < FRAME_HEADER_BYTES:
                piece = await loop.sock_recv(link, _SHOWN_BYTES)
                if not piece:
                    break
                heard += piece
    except TimeoutError:
        if not heard:
            raise
    except OSError:  # reset: what was heard until then counts
        pass
    return heard


async def _speaks_tls(
    family: socket.AddressFamily, where: tuple[Any, ...], *, connect_s: float, answer_s: float
) -> bool:
    """Whether one who hung up on plain words answers a TLS handshake."""
    with contextlib.suppress(NotConnected, TimeoutError):
        async with connected(family, where, connect_s=connect_s) as link:
            heard = await _first_bytes(link, _tls_hello(), answer_s=answer_s)
            return heard.startswith(_TLS_RECORDS)
    return False


@cache
def _tls_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent but the greeting
    context.set_alpn_protocols(["h2"])
    said = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    return said.read()


def _is_settings(heard: bytes) -> bool:
    """Length (a multiple of 6), type, no flags, stream 0."""
    length = int.from_bytes(heard[:3])
    return (
        len(heard) >= FRAME_HEADER_BYTES
        and length % 6 == 0
        and heard[3:FRAME_HEADER_BYTES] == bytes([_SETTINGS, 0, 0, 0, 0, 0])
    )


def _something_else(heard: bytes) -> Touch:
    if heard.startswith(_TLS_RECORDS):
        return Touch(Outcome.NOT_GRPC, "it speaks TLS, which TensorFlow's servers do not")
    shown = repr(heard[:_SHOWN_BYTES])[2:-1]
    return Touch(Outcome.NOT_GRPC, one_line(f"it says {shown}, which is not HTTP/2"))
