"""Large batches go past the page cache, whatever their size, and wherever that does not go."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import rows
from holdfast.rows.compactor import Compactor
from holdfast.rows.direct import DirectFile

COUNTS = (60_001, 200_003, 7, 150_000, 1, 99_999)  # of 28 bytes: no block ends where they do


@pytest.fixture
def direct_writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    write_past = DirectFile._write_past

    def spy(file: DirectFile, direct: int, content: memoryview, offset: int) -> int:
        seen.append(len(content))
        return write_past(file, direct, content, offset)

    monkeypatch.setattr(DirectFile, "_write_past", spy)
    return seen


def bring(place: Path) -> None:
    with rows.open(place, task="worker:0", way="central") as writer:
        start = 0
        for count in COUNTS:
            batch = np.arange(start, start + count * 7, dtype="<f4").reshape(count, 7)
            writer.append("x", batch)
            start += count * 7
    with Compactor(place, warn=pytest.fail) as compactor:
        compactor.drain()


def judge(place: Path, arrived: Callable[..., Any]) -> None:
    found = arrived(place)["worker-0.0001"]["x"]
    assert found.tobytes() == np.arange(sum(COUNTS) * 7, dtype="<f4").tobytes()


def test_rows_of_any_size_are_what_they_were(
    tmp_path: Path, arrived: Callable[..., Any], direct_writes: list[int]
) -> None:
    bring(tmp_path)
    judge(tmp_path, arrived)
    assert direct_writes
    assert not any(count % 4096 for count in direct_writes)


@pytest.mark.parametrize("at", ["open", "write"])
def test_a_file_system_that_does_not_know_it_gets_plain_writes(
    at: str, tmp_path: Path, arrived: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tmpfs of old kernels and many over a network."""
    real_open, real_pwrite, direct = os.open, os.pwrite, set[int]()

    def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_DIRECT and at == "open":
            raise OSError(errno.EINVAL, "no")
        fd = real_open(path, flags, *rest, **named)
        if flags & os.O_DIRECT:
            direct.add(fd)
        return fd

    def written(fd: int, content: Any, offset: int) -> int:
        if fd in direct:
            direct.discard(fd)
            raise OSError(errno.EINVAL, "no")
        return real_pwrite(fd, content, offset)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "pwrite", written)
    bring(tmp_path)
    judge(tmp_path, arrived)
