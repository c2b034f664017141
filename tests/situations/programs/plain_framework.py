"""A framework of one function: an all-reduce, after which everybody has a byte of everybody."""

import socket


def all_reduce(peers: list[socket.socket]) -> None:
    for peer in peers:
        peer.sendall(b"1")
    for peer in peers:
        if not peer.recv(1):
            raise RuntimeError("Connection closed by peer [127.0.0.1]: it has left")
