"""A task that comes near its limit of open files is told of while there is still time."""

import contextlib
import os
import resource
from collections.abc import Iterator

import pytest

from holdfast.agent.watch_files import EVERY_S, FilesLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import FilesNearLimit
from holdfast.probes.usage import open_files

WORKER = TaskId.parse("worker:0")
ROOM = 200


@pytest.fixture
def files() -> Iterator[contextlib.ExitStack]:
    """This process may have some more files, which are closed afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = open_files([os.getpid()])
    with contextlib.ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + ROOM, limits[1]))
        yield opened


def look(
    found: FilesLook, rounds: int, files: contextlib.ExitStack, more: int
) -> list[FilesNearLimit]:
    pid = os.getpid()
    task = Watched(task=WORKER, pid=pid, address="", streams={}, pids=(pid,), main=pid)
    told: list[FilesNearLimit] = []
    for number in range(rounds):
        for _ in range(more):
            files.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        told += found.look({WORKER: task}, number * EVERY_S)
    return told


def test_a_leak_is_told_before_its_limit_with_the_time_that_is_left(
    files: contextlib.ExitStack,
) -> None:
    told = look(FilesLook("host-a"), 9, files, ROOM // 10)
    assert told
    assert told[0].limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert told[0].used < 0.9 * told[0].limit
    assert 0 < told[0].left_s < 120


def test_many_files_that_are_open_all_the_time_are_nothing_to_tell(
    files: contextlib.ExitStack,
) -> None:
    for _ in range(ROOM // 2):
        files.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    assert look(FilesLook("host-a"), 9, files, 0) == []
