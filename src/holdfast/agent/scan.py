"""The process that reads what the tasks write: telling lines go up as facts.

It runs at low priority and by itself, so that neither a flood of output nor a hard pattern
can delay the one who watches for deaths, or take a core from a task. Behind, it catches up
later: the output is on disk.
"""

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.agent.clock import Clock
from holdfast.agent.release import releasable, release
from holdfast.agent.scan_order import ScanOrder
from holdfast.agent.serve import serve, tell
from holdfast.agent.step_back import step_back
from holdfast.diagnose import telling_lines
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import OutputReleased, ProbeBlind
from holdfast.probes.output import Listener

CHUNK_BYTES = 256 * 1024
TAIL_BYTES = 256 * 1024
LOOK_EVERY_S = 0.1


@dataclass(slots=True)
class Stream:
    """One output file, and how far we are in it."""

    fd: int
    listener: Listener
    released: int = 0

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size


class Scanner:
    def __init__(self, order: ScanOrder, run_dir: RunDir) -> None:
        self._order = order
        self._clock = Clock(order.zero_s)
        self._blind = False
        self._more = False  # to be read at once
        self._streams = {
            (name, stream): self._stream(
                run_dir.open_log(TaskId.parse(name), order.attempt, stream), name, stream
            )
            for name in order.tasks
            for stream in ("out", "err")
        }

    def _stream(self, fd: int, name: str, stream: str) -> Stream:
        """From its first line that is still there."""
        listener = self._listener(name, stream)
        released = self._order.released.get(f"{name} {stream}", 0)
        if released:
            rest = os.pread(fd, CHUNK_BYTES, released)
            listener.offset, listener.counted = released + rest.find(b"\n") + 1, False
        return Stream(fd, listener, released)

    def _listener(self, name: str, stream: str) -> Listener:
        return Listener(
            host=self._order.host,
            task=TaskId.parse(name),
            stream=stream,
            telling=telling_lines(),
            attempt=self._order.attempt,
        )

    def hear(self, words: str) -> bool:
        """Read on until told to finish."""
        word, _, name = words.partition(" ")
        if word == "finish":
            self.finish()
            return False
        self.read_tail(name)
        return True

    def pause_s(self) -> float:
        return 0.0 if self._more else LOOK_EVERY_S

    def look(self) -> bool:
        """One chunk of every stream that has grown. Always True: only `finish` ends it."""
        more = False
        for stream in self._streams.values():
            chunk = os.pread(stream.fd, CHUNK_BYTES, stream.listener.offset)
            if chunk:
                tell(stream.listener.feed(chunk, self._clock.at_s()))
                more = more or len(chunk) == CHUNK_BYTES
                self._release(stream)
            elif stream.listener.holds_back:
                tell(stream.listener.pause(self._clock.at_s()))
        self._more = more
        return True

    def read_tail(self, name: str) -> None:
        """A task has died: its last lines first, however far behind we are."""
        for stream_name in ("out", "err"):
            stream = self._streams[(name, stream_name)]
            behind = stream.size - stream.listener.offset
            if behind <= TAIL_BYTES:
                continue
            ahead = self._listener(name, stream_name)
            ahead.offset, ahead.counted = stream.size - TAIL_BYTES, False
            tail = os.pread(stream.fd, TAIL_BYTES, ahead.offset)
            cut = tail.find(b"\n") + 1
            ahead.offset += cut
            facts = ahead.feed(tail[cut:], self._clock.at_s()) + ahead.end(self._clock.at_s())
            tell(facts[:-1])  # all but its OutputEnded: the stream is not read through yet

    def finish(self) -> None:
        """All tasks have ended: read everything to its end."""
        self._more = True
        while self._more:
            self.look()
        for stream in self._streams.values():
            tell(stream.listener.end(self._clock.at_s()))

    def _release(self, stream: Stream) -> None:
        """Give the oldest bytes back to the disk, behind what we have read."""
        keep_bytes = self._order.keep_bytes
        if keep_bytes is None or self._blind:
            return
        listener = stream.listener
        until = releasable(read_to=listener.offset, released=stream.released, keep_bytes=keep_bytes)
        if until == stream.released:
            return
        try:
            release(stream.fd, stream.released, until)
        except OSError as error:
            self._blind = True
            why = f"old output cannot be released on this file system ({error.strerror})"
            blind = ProbeBlind(
                at_s=self._clock.at_s(), host=listener.host, probe="keep-bytes", why=why
            )
            tell([blind])
            return
        fact = OutputReleased(
            at_s=self._clock.at_s(),
            host=listener.host,
            task=listener.task,
            attempt=listener.attempt,
            stream=listener.stream,
            until=until,
            bytes_released=until - stream.released,
        )
        stream.released = until
        tell([fact])


def main() -> None:
    step_back()
    order = msgspec.json.decode(sys.argv[1], type=ScanOrder)
    scanner = Scanner(order, open_run_dir(Path(order.run_dir)))
    with contextlib.suppress(BrokenPipeError):
        serve(scanner.hear, scanner.look, scanner.pause_s)


if __name__ == "__main__":
    main()
