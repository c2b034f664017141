"""The supervisor's door: who may knock, and what is taken."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.errors import Unreachable
from holdfast.model.facts import Fact, SignalAsked, StopAsked
from holdfast.model.recovery_facts import RemedyAnswered
from holdfast.wire.door import NAME, Door, Request, ask


@pytest.fixture
def dir_fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def door(dir_fd: int) -> Iterator[Door]:
    opened = Door(dir_fd, lambda: {"at_s": 1.0, "host": "a"})
    yield opened
    opened.close()


def knock(tmp_path: Path, words: bytes) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    caller.connect(str(tmp_path / NAME))
    caller.send(words)
    return caller


def taken(door: Door) -> list[Fact]:
    (answer,) = door.waitables().values()
    return [fact for batch in answer() for fact in batch]


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (
            b'{"ask": "stop", "signal": 15, "by": "me"}',
            StopAsked(at_s=1.0, host="a", by="me", signal=15),
        ),
        (
            b'{"ask": "kill", "signal": 2, "by": "me"}',
            StopAsked(at_s=1.0, host="a", by="me", signal=2, now=True),
        ),
        (
            b'{"ask": "signal", "signal": 10, "by": "me"}',
            SignalAsked(at_s=1.0, host="a", by="me", signal=10),
        ),
        (
            b'{"ask": "answer", "yes": true, "by": "me"}',
            RemedyAnswered(at_s=1.0, host="a", by="me", yes=True),
        ),
    ],
)
def test_a_request_becomes_a_fact(tmp_path: Path, door: Door, words: bytes, fact: Fact) -> None:
    with knock(tmp_path, words) as caller:
        assert taken(door) == [fact]
        assert caller.recv(100) == b"ok"


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"not json",
        b"[]",
        b'{"ask": "stop"}',
        b'{"ask": "dance", "signal": 15, "by": "me"}',
        b'{"ask": "stop", "signal": 4000, "by": "me"}',
        b'{"ask": "stop", "signal": -9, "by": "me"}',
        b'{"ask": "stop", "signal": 15, "by": ' + b"[" * 2000,
    ],
)
def test_what_is_not_understood_changes_nothing(tmp_path: Path, door: Door, words: bytes) -> None:
    with knock(tmp_path, words or b" ") as caller:
        assert taken(door) == []
        assert caller.recv(1000).startswith(b"not understood")


def test_only_the_owner_may_see_the_door(tmp_path: Path, door: Door) -> None:
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_nobody_is_there(dir_fd: int) -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        ask(dir_fd, Request(ask="stop", signal=15, by="me"))


def test_the_door_goes_with_its_owner(tmp_path: Path, dir_fd: int) -> None:
    make: Callable[[], dict[str, Any]] = dict
    Door(dir_fd, make).close()
    assert not (tmp_path / NAME).exists()
