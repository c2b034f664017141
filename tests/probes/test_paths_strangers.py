"""Servers that misbehave, each on a loopback port of its own, are told apart in time."""

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.model.facts import PathProbed

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
HEADERS_TYPE, PING_TYPE, CONTINUATION_TYPE = 1, 6, 9
CONVERSATION_S = 10
ANSWER_S_MAX = 8.0
Talk = Callable[[socket.socket], None]
Look = Callable[..., PathProbed]


@contextlib.contextmanager
def stranger(talk: Talk, host: str = "127.0.0.1") -> Iterator[str]:
    """An address where every connection is answered by `talk`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        listener.settimeout(CONVERSATION_S)
        serving = threading.Thread(target=_serve, args=(listener, talk))
        serving.start()
        port = listener.getsockname()[1]
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        listener.shutdown(socket.SHUT_RDWR)  # wakes up accept
        serving.join()


def _serve(listener: socket.socket, talk: Talk) -> None:
    with contextlib.suppress(OSError):
        while True:
            link, _ = listener.accept()
            link.settimeout(CONVERSATION_S)
            with link, contextlib.suppress(OSError):
                talk(link)


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    header = len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4)
    return header + content


def header(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


BEGIN = frame(
    HEADERS_TYPE,
    4,
    1,
    header(b":status", b"200") + header(b"content-type", b"application/grpc"),
)
END = frame(HEADERS_TYPE, 5, 1, header(b"grpc-status", b"0"))


def closes_at_once(link: socket.socket) -> None:
    """Hangs up."""


def closes_after_settings(link: socket.socket) -> None:
    hear_a_call(link)


def speaks_http(link: socket.socket) -> None:
    link.recv(1000)
    link.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def without_end(link: socket.socket, words: bytes) -> None:
    """For longer than anybody may listen; gRPC may go on reading what nobody wants any more."""
    until_s = time.monotonic() + CONVERSATION_S
    while time.monotonic() < until_s:
        link.sendall(words)


def speaks_garbage_without_end(link: socket.socket) -> None:
    without_end(link, b"garbage \x1b[2J" * 1000)


def hear_a_call(link: socket.socket) -> None:
    """As an HTTP/2 server, up to the client's request for stream 1."""
    link.recv(24)
    link.sendall(SETTINGS)
    heard = b""
    while b"tensorflow" not in heard and len(heard) < 10_000:
        piece = link.recv(1000)
        if not piece:
            raise ConnectionError
        heard += piece


def answers_nonsense(link: socket.socket) -> None:
    hear_a_call(link)
    link.sendall(BEGIN + frame(0, 0, 1, b"\0\0\0\0\2no") + END)
    link.recv(1000)


def answers_without_end(link: socket.socket) -> None:
    hear_a_call(link)
    link.sendall(BEGIN + frame(0, 0, 1, b"\0\x7f\xff\xff\xff"))
    without_end(link, frame(0, 0, 1, bytes(16_000)))


def headers_without_end(link: socket.socket) -> None:
    hear_a_call(link)
    link.sendall(frame(HEADERS_TYPE, 0, 1, header(b":status", b"200")))
    without_end(link, frame(CONTINUATION_TYPE, 0, 1, header(b"x-a", b"b" * 100)) * 100)


def pings_without_end(link: socket.socket) -> None:
    link.recv(24)
    link.sendall(SETTINGS)
    without_end(link, frame(PING_TYPE, 0, 0, bytes(8)) * 100)


def never_answers_the_call(link: socket.socket) -> None:
    hear_a_call(link)
    while link.recv(1000):
        pass


@pytest.mark.parametrize(
    ("talk", "outcome", "words"),
    [
        (closes_at_once, "reset", "without a word"),
        (closes_after_settings, "reset", ""),
        (speaks_http, "not-grpc", "HTTP/1.1 400"),
        (speaks_garbage_without_end, "not-grpc", "garbage"),
        (answers_nonsense, "not-tensorflow", "answer"),
        (answers_without_end, "not-tensorflow", "larger than max"),
        (headers_without_end, "not-tensorflow", "RESOURCE_EXHAUSTED"),
        (pings_without_end, "stalled", ""),
        (never_answers_the_call, "stalled", "no answer"),
    ],
)
def test_a_stranger_is_told_apart_in_time(look: Look, talk: Talk, outcome: str, words: str) -> None:
    # Who answers does it at once, or as soon as it gets a core; who stalls is waited for.
    answer_s = 0.6 if outcome == "stalled" else ANSWER_S_MAX
    with stranger(talk) as address:
        fact = look(address, answer_s=answer_s)
    assert fact.outcome == outcome, fact.says
    assert words in fact.says


def test_a_tls_server_is_not_grpc_and_the_hint_says_tls(look: Look, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def talk(link: socket.socket) -> None:
        context.wrap_socket(link, server_side=True).close()

    with stranger(talk) as address:
        fact = look(address)
    assert fact.outcome == "not-grpc"
    assert "TLS" in fact.says
