"""What a compactor is started with, and how it and its supervisor talk: lines over pipes."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

SEGMENT_BYTES = 64 << 20
AGE_S = 5.0
HELD_CODE = 75
FAILED_CODE = 74
_LINE_BYTES_MAX = 1 << 16


@dataclass(frozen=True)
class Settings:
    """What a compactor and its receiver are started with."""

    logdir: str
    listen: tuple[str, ...] = ()
    token: str | None = None
    segment_bytes: int = SEGMENT_BYTES
    age_s: float = AGE_S
    once: bool = False

    @classmethod
    def from_line(cls, line: bytes) -> tuple["Settings", list[int]]:
        """The settings, and the descriptors of sockets that are listened on."""
        told: dict[str, Any] = json.loads(line)
        fds = told.pop("fds")
        return cls(**{**told, "listen": tuple(told["listen"])}), fds

    def to_line(self, fds: list[int]) -> bytes:
        return json.dumps(asdict(self) | {"fds": fds}).encode() + b"\n"


def warn(text: str) -> None:
    told = "".join(char if char.isprintable() else "?" for char in text)
    os.write(2, f"holdfast rows: {told}\n".encode(errors="replace"))


class Lines:
    """Lines from a descriptor, without blocking for the rest of one."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""
        self.is_over = False

    def first(self) -> bytes:
        """One line, and not a byte more."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._fd, 1)
            if not byte or len(line) > _LINE_BYTES_MAX:
                sys.exit(FAILED_CODE)
            line += byte
        return line

    def new(self) -> list[bytes]:
        """The whole lines that are there now."""
        got = os.read(self._fd, _LINE_BYTES_MAX)
        self.is_over = not got
        *lines, self._rest = (self._rest + got).split(b"\n")
        self._rest = self._rest[:_LINE_BYTES_MAX]
        return lines
