"""Scans the parts of logs on a Ray cluster: its hosts read the files, from a shared directory."""

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from holdfast.logs.part import HeardPart, Part
from holdfast.logs.read import Scan
from holdfast.logs.scan_part import scan_part
from holdfast.model.errors import MissingInput, Unreachable

AHEAD = 2  # parts for each core of the cluster: one is read, one waits
RETRIES_MAX = 3  # of a part whose host has died
ANSWERS_S = 5.0


def ray_scan(address: str = "auto") -> Scan:
    """On the cluster at `address`: `auto` is the one that RAY_ADDRESS or this host knows."""

    def scan(todo: Sequence[Part], patterns: tuple[str, ...]) -> Iterator[HeardPart]:
        for part in todo:
            if not part.is_file:
                yield from scan_part(part, patterns)
        elsewhere = [part for part in todo if part.is_file]
        if elsewhere:
            with _cluster(address) as ray:
                yield from _scanned(ray, elsewhere, patterns)

    return scan


def _scanned(ray: Any, todo: Sequence[Part], patterns: tuple[str, ...]) -> Iterator[HeardPart]:
    """As many parts at once as there are cores, and some ahead; what they told, in any order."""
    there = ray.remote(max_retries=RETRIES_MAX, num_cpus=1)(_scan_there)
    words = ray.put(msgspec.json.encode(patterns))  # sent once to each host
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = list(reversed(todo))
    running: list[Any] = []
    while waiting or running:
        while waiting and len(running) < AHEAD * cores:
            running.append(there.remote(msgspec.json.encode(waiting.pop()), words))
        done, running = ray.wait(running, num_returns=1)
        yield from msgspec.json.decode(ray.get(done[0]), type=list[HeardPart])


def _scan_there(part: bytes, patterns: bytes) -> bytes:
    """What runs on the cluster: JSON in, JSON out."""
    words = msgspec.json.decode(patterns, type=tuple[str, ...])
    return msgspec.json.encode(list(scan_part(msgspec.json.decode(part, type=Part), words)))


def _must_listen(address: str) -> None:
    """Ray itself tries for minutes before it says that nobody is there."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_S).close()
    except (OSError, OverflowError) as error:
        raise _nobody(address, str(error)) from error


def _nobody(address: str, said: str) -> Unreachable:
    return Unreachable(
        f"there is no Ray cluster at {address}: {said.strip().partition(chr(10))[0]}",
        do="start one with `ray start --head`, or set RAY_ADDRESS, or leave out --engine",
    )


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    try:
        import ray  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise MissingInput(
            "ray is not installed: logs cannot be read on a cluster",
            do="pip install 'holdfast[ray]', or leave out --engine",
        ) from error
    _must_listen(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _nobody(address, str(error)) from error
    try:
        yield ray
    except ray.exceptions.RayError as error:
        said = str(error).strip().partition("\n")[0]
        raise Unreachable(
            f"the Ray cluster could not read the logs: {said}",
            do="its hosts need the same files and the same Holdfast; or leave out --engine",
        ) from error
    finally:
        ray.shutdown()
