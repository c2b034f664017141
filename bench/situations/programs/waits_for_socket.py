"""Worker 1 asks a feature store for rows; that takes the call and never answers."""

import socket

from training import task, train

STORE = socket.create_server(("127.0.0.1", 0))  # a store that is too busy to answer


def ask_store() -> bytes:
    with socket.create_connection(STORE.getsockname()) as link:
        link.sendall(b"GET /rows/20 HTTP/1.0\r\n\r\n")
        return link.recv(4096)


def load(step: int) -> None:
    if task() == "worker:1" and step == 20:
        ask_store()


train(load)
