"""How much of a task's output is about its work: that it still waits for others is not."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.model.pattern import AnyOf

CHUNK_BYTES = 65_536


@dataclass(slots=True)
class WorkWritten:
    """Bytes written to some streams, without the lines that only tell of waiting."""

    fds: Sequence[int]
    waiting: AnyOf
    _offsets: dict[int, int] = field(default_factory=dict)
    _counted: int = 0

    def bytes(self) -> int:
        for fd in self.fds:
            offset = self._offsets.get(fd, 0)
            size = os.fstat(fd).st_size
            if size - offset > CHUNK_BYTES:
                self._counted += size - offset  # so much is written by nobody who waits
                self._offsets[fd] = size
                continue
            chunk = os.pread(fd, CHUNK_BYTES, offset)
            whole = chunk[: chunk.rfind(b"\n") + 1]
            self._offsets[fd] = offset + len(whole)
            self._counted += sum(
                len(line) for line in whole.splitlines() if self.waiting.first(line, 0) < 0
            )
        return self._counted
