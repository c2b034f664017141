"""Asks a TensorFlow server who it is, and whom it can see.

gRPC carries bytes here: TensorFlow itself is not needed, and neither is protobuf.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.model.errors import BadInput, MissingInput
from holdfast.model.path import Outcome
from holdfast.model.redact import redact
from holdfast.model.tf_messages import Device, listed_devices, status_devices

SAYS_LENGTH_MAX = 300
ANSWER_ON_THE_WIRE_BYTES_MAX = 4 << 20  # gRPC throws more away, before it is in memory
ABANDONED_MAX = 32
_GRACE_S = 0.25  # for gRPC to tell of its own deadline

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # TensorFlow would not find its peers through one, either
    ("grpc.use_local_subchannel_pool", 1),  # else a look would see the connection of another
    ("grpc.enable_retries", 0),
    ("grpc.max_receive_message_length", ANSWER_ON_THE_WIRE_BYTES_MAX),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.absolute_max_metadata_size", 64 << 10),
)

# What gRPC's own words mean, the most telling first: it has one status code for all of them.
_UNAVAILABLE = (
    ("domain name not found", Outcome.UNRESOLVED),
    ("errors resolving", Outcome.UNRESOLVED),
    ("dns resolution failed", Outcome.UNRESOLVED),
    ("failed parsing http/2", Outcome.NOT_GRPC),
    ("settings frame", Outcome.NOT_GRPC),
    ("connection refused", Outcome.REFUSED),
    ("unreachable", Outcome.UNREACHABLE),
    ("no route to host", Outcome.UNREACHABLE),
    ("timed out", Outcome.FILTERED),
    ("timeout", Outcome.FILTERED),
    ("reset", Outcome.RESET),
    ("closed", Outcome.RESET),
    ("goaway", Outcome.RESET),
    ("broken pipe", Outcome.RESET),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question; only an answered one has devices."""

    outcome: Outcome
    says: str
    took_s: float
    devices: tuple[Device, ...] = ()

    @property
    def name(self) -> str:
        """What the server calls itself: worker:1. Its own devices come first."""
        return self.devices[0].task if self.devices else ""


def ask_status(address: str, *, deadline_s: float) -> Answer:
    """Who is there? A live server tells within milliseconds.

    A server that has not answered by the deadline is called stalled. Whether it could be
    reached at all, gRPC does not tell: connect first.
    """
    return _ask("/tensorflow.WorkerService/GetStatus", address, deadline_s, status_devices)


def ask_peers(address: str, *, deadline_s: float) -> Answer:
    """Whom can it see? While one of its peers is missing, the server gives no answer: stalled.

    The server goes on waiting for that peer when we are gone, and says so in its log every
    ten seconds ("CreateSession still waiting for response from worker").
    """
    return _ask("/tensorflow.MasterService/ListDevices", address, deadline_s, listed_devices)


def _ask(
    method: str, address: str, deadline_s: float, read: Callable[[bytes], tuple[Device, ...]]
) -> Answer:
    grpc = import_grpc()
    began_s = time.monotonic()
    _abandoned[:] = [(channel, call) for channel, call in _abandoned if not call.done()]
    if len(_abandoned) >= ABANDONED_MAX:
        return Answer(Outcome.BLIND, "too many others talk to us without end", 0.0)
    channel = grpc.insecure_channel(address, options=_OPTIONS)
    ask = channel.unary_unary(method, request_serializer=_as_it_is, response_deserializer=_as_it_is)
    # A peer that floods us with pings makes gRPC forget its own deadline, so we wait with one
    # of ours: a future can be left alone, a plain call cannot. Nor can its channel be closed.
    call = ask.future(b"", timeout=deadline_s)
    devices: tuple[Device, ...] = ()
    try:
        devices = read(call.result(timeout=deadline_s + _GRACE_S))
        outcome, says = Outcome.ANSWERED, ""
        if not devices:
            outcome, says = Outcome.NOT_TENSORFLOW, "its answer names no device"
    except BadInput as error:
        outcome, says = Outcome.NOT_TENSORFLOW, error.message
    except grpc.FutureTimeoutError:
        outcome, says = Outcome.STALLED, "it talks without end, and gives no answer"
        _abandoned.append((channel, call))
    except grpc.RpcError as error:
        outcome, says = _meaning(error.code().name, error.details() or "")
    if call.done():
        channel.close()
    return Answer(outcome, one_line(says), time.monotonic() - began_s, devices)


# Calls that gRPC does not end, with the channels that they hold open.
_abandoned: list[tuple[Any, Any]] = []


def _meaning(code: str, details: str) -> tuple[Outcome, str]:
    words = details.lower()
    if "http2 header with status" in words:
        return Outcome.NOT_GRPC, details  # HTTP/2, and a page that it does not have
    if code == "DEADLINE_EXCEEDED":
        return Outcome.STALLED, "no answer until the deadline"
    if code == "UNAVAILABLE":
        found = (outcome for sign, outcome in _UNAVAILABLE if sign in words)
        return next(found, Outcome.BLIND), details
    return Outcome.NOT_TENSORFLOW, f"{code}: {details}"


def one_line(text: str) -> str:
    """A stranger's words: short, without secrets, on one line."""
    return redact(" ".join(text[: 4 * SAYS_LENGTH_MAX].split()))[:SAYS_LENGTH_MAX]


def _as_it_is(message: bytes) -> bytes:
    return message


_importing = threading.Lock()


def import_grpc() -> Any:
    """The module, imported on first use: most of Holdfast does without it."""
    with _importing:
        return _quiet_grpc()


@cache
def _quiet_grpc() -> Any:
    """gRPC writes to our stderr and wants to take part in forks, unless told not to.

    It reads that once, from the environment, which our tasks must not inherit.
    """
    wanted = {"GRPC_VERBOSITY": "NONE", "GRPC_ENABLE_FORK_SUPPORT": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        import grpc  # noqa: PLC0415 - it takes 50 ms and may be missing

        grpc.insecure_channel("127.0.0.1:1").close()
    except ImportError as error:
        raise MissingInput(
            "asking TensorFlow servers needs the package grpcio, which is not installed",
            do="pip install 'holdfast[grpc]'",
        ) from error
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return grpc
