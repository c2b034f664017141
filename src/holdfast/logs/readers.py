"""Processes that scan parts for us, each one part at a time, and may die without harm."""

import contextlib
import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from holdfast.logs.part import HeardPart, Part

HEAR_BYTES = 1 << 20
_MODULE = "holdfast.logs.scan_part"


def scanned_by(jobs: int, todo: Sequence[Part], patterns: tuple[str, ...]) -> Iterator[HeardPart]:
    """What each part told, in the order in which they are done."""
    waiting = deque(todo)
    with selectors.DefaultSelector() as awaited:
        for _ in range(min(jobs, len(todo))):
            _start(awaited, patterns, waiting.popleft())
        try:
            while awaited.get_map():
                for key, _ in awaited.select():
                    reader: _Reader = key.data
                    answers = reader.answers()
                    yield from answers
                    if all(answer.part.member for answer in answers):
                        continue
                    if waiting and not reader.gone:
                        reader.ask(waiting.popleft())
                        continue
                    awaited.unregister(reader.fd)
                    reader.close()
                    if waiting:
                        _start(awaited, patterns, waiting.popleft())
        finally:
            for key in list(awaited.get_map().values()):
                key.data.close()


def _start(awaited: selectors.BaseSelector, patterns: tuple[str, ...], part: Part) -> None:
    reader = _Reader(patterns)
    reader.ask(part)
    awaited.register(reader.fd, selectors.EVENT_READ, reader)


class _Reader:
    """One process: asked for a part, it answers with a line, and of an archive with many."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.gone = False
        self._part: Part | None = None
        self._heard = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        self._tell(msgspec.json.encode(patterns))

    def ask(self, part: Part) -> None:
        self._part = part
        self._tell(msgspec.json.encode(part))

    def answers(self) -> list[HeardPart]:
        """What has come of the part that was asked for; the part itself comes last."""
        assert self._part is not None
        some = os.read(self.fd, HEAR_BYTES)
        self._heard += some
        if b"\n" in some:
            whole, _, rest = bytes(self._heard).rpartition(b"\n")
            self._heard = bytearray(rest)
            return [msgspec.json.decode(line, type=HeardPart) for line in whole.split(b"\n")]
        if some:
            return []
        self.gone = True
        part = self._part
        where = f" from byte {part.start:,} to {part.end:,}" if part.end >= 0 else ""
        return [HeardPart(part=part, unknown=(f"{part.source}{where}: our reader of it died",))]

    def close(self) -> None:
        """It ends when there is nothing more to read."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is dead: its answer will say so
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
