"""What connections have carried, asked of the kernel: real ones, of both kinds."""

import socket

import pytest

from holdfast.probes.tcp_counts import TcpAsked

BYTES = 100_000


def written(place: tuple[object, ...]) -> str:
    host = str(place[0]).removeprefix("::ffff:")
    return f"[{host}]:{place[1]}" if ":" in host else f"{host}:{place[1]}"


# gRPC's sockets are of the third kind: they are of version 6, and carry version 4.
@pytest.mark.parametrize(
    ("family", "host"),
    [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET6, "::1"),
        (socket.AF_INET6, "::ffff:127.0.0.1"),
    ],
)
def test_bytes_are_counted_at_both_ends(family: socket.AddressFamily, host: str) -> None:
    with TcpAsked() as asked, socket.socket(family) as server, socket.socket(family) as sender:
        server.bind((host, 0))
        server.listen()
        sender.connect(server.getsockname())
        receiver, _ = server.accept()
        with receiver:
            sender.sendall(bytes(BYTES))
            left = BYTES
            while left:
                left -= len(receiver.recv(left))
            receiver.sendall(b"thanks")
            assert sender.recv(6) == b"thanks"  # so all before it was acknowledged
            here, there = written(sender.getsockname()), written(sender.getpeername())
            own, other = asked.counts(here, there), asked.counts(there, here)
    assert asked.blind == ""
    assert own is not None
    assert other is not None
    assert own.sent_bytes in {BYTES, BYTES + 1}  # the kernel counts its first packet, too
    assert own.received_bytes == len(b"thanks")
    assert other.received_bytes == BYTES
    assert own.network_s >= 0


def test_a_connection_that_is_not_there_has_no_counts() -> None:
    with TcpAsked() as asked:
        assert asked.counts("127.0.0.1:1", "127.0.0.1:2") is None
        assert asked.counts("[::1]:1", "[::1]:2") is None
        assert asked.blind == ""
