"""Finds datasets whose names are lost: by the marks of their headers, anywhere in the file.

A group that is damaged or cut off takes the names of everything in it along, while the datasets
themselves may lie elsewhere, whole. What was deleted earlier may be found, too.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from holdfast.rows.rescuing.library import opened_at

HEADERS_MAX = 10_000
PLACE = "/_rescued"
_WINDOW_BYTES = 16 << 20
_NEW = b"OHDR"
_PREFIX_BYTES, _HEADER_BYTES_MAX, _MESSAGES_MAX = 16, 1 << 16, 200
_SPACE, _TYPE = 1, 3  # messages that every dataset has


def headers(raw: int, size_bytes: int, base: int) -> Iterator[int]:
    """Addresses at which the header of a dataset seems to begin."""
    found = 0
    for start in range(0, size_bytes, _WINDOW_BYTES):
        window = os.pread(raw, _WINDOW_BYTES + len(_NEW), start)
        places = sorted({*_new(window), *_old(raw, window, start)})
        for at in places:
            found += 1
            if found > HEADERS_MAX:
                return
            yield start + at - base


def dataset_at(file: Any, address: int) -> Any:
    """The dataset whose header is there; ValueError where something else is."""
    import h5py  # noqa: PLC0415

    found = opened_at(file, address)
    if not isinstance(found, h5py.h5d.DatasetID):
        raise ValueError("no dataset")  # noqa: TRY004 - about the file, not the argument
    return h5py.Dataset(found)


def _new(window: bytes) -> Iterator[int]:
    at = window.find(_NEW)
    while 0 <= at < _WINDOW_BYTES:
        yield at
        at = window.find(_NEW, at + 1)


def _old(raw: int, window: bytes, start: int) -> Iterator[int]:
    """Old headers have no signature: version 1, few messages, at a multiple of 8 bytes."""
    usable = min(len(window), _WINDOW_BYTES) // 8 * 8
    words = np.frombuffer(window[:usable], dtype="<u8")
    messages = (words >> np.uint64(16)) & np.uint64(0xFFFF)
    links = words >> np.uint64(32)
    fits = ((words & np.uint64(0xFFFF)) == 1) & (messages > 1) & (messages < _MESSAGES_MAX)
    for at in np.flatnonzero(fits & (links > 0) & (links < _MESSAGES_MAX)).tolist():
        if {_SPACE, _TYPE} <= _messages(raw, start + at * 8):
            yield at * 8


def _messages(raw: int, at: int) -> set[int]:
    """The kinds of messages in the first block of an old header."""
    prefix = os.pread(raw, _PREFIX_BYTES, at)
    size = int.from_bytes(prefix[8:12], "little")
    if not 0 < size <= _HEADER_BYTES_MAX:
        return set()
    block = os.pread(raw, size, at + _PREFIX_BYTES)
    kinds: set[int] = set()
    where = 0
    while where + 8 <= len(block):
        kinds.add(int.from_bytes(block[where : where + 2], "little"))
        where += 8 + int.from_bytes(block[where + 2 : where + 4], "little")
    return kinds
