"""Compares what was kept of a child's output with what the child says it wrote."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bench.output.flood import LINE_BYTES, digest

CHUNK_BYTES = 1 << 20
_NUMBER = re.compile(rb"says line (\d{10})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a child says of itself."""

    child: int
    began_s: float
    ended_s: float
    cpu_s: float
    lines: int

    @property
    def size(self) -> int:
        return self.lines * LINE_BYTES


def read_account(side: Path, child: int) -> Account | None:
    """None while the child is not done."""
    try:
        told = json.loads((side / f"{child}.json").read_text())
    except FileNotFoundError:
        return None
    return Account(child=child, **told)


def fault_in(kept: Path, account: Account) -> str:
    """What is wrong with a kept file; empty when every byte is there, in its order."""
    if not kept.is_file():
        return "nothing was kept"
    expected = _expected(account.child, account.lines)
    if kept.stat().st_size == account.size and _digest_of(kept) == expected:
        return ""
    lines = 0
    reordered = 0
    last = -1
    payload = hashlib.sha256()
    with kept.open("rb") as file:
        for raw in file:
            found = _NUMBER.search(raw)
            if not found:
                continue
            # A tool may put a time or a name before a line; the line itself must be whole.
            payload.update(raw[-LINE_BYTES:])
            lines += 1
            number = int(found[1])
            reordered += number < last
            last = number
    if payload.hexdigest() == expected:
        return ""
    told = [f"lost {account.lines - lines:,} of {account.lines:,} lines"]
    told += [f"reordered {reordered:,}"] if reordered else []
    return ", ".join(told) if lines != account.lines or reordered else "lines were altered"


@lru_cache(maxsize=64)
def _expected(child: int, lines: int) -> str:
    return digest(child, lines)


def _digest_of(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            whole.update(chunk)
    return whole.hexdigest()
