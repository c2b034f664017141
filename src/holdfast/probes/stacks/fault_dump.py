"""Stacks that a process writes down itself when asked by a signal: the way without ptrace."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from holdfast.model.pattern import Pattern
from holdfast.model.watch_facts import ThreadStack
from holdfast.probes.stacks.py_spy import FRAMES_MAX, THREADS_MAX, frame_text
from holdfast.probes.stacks.source import Sources

DUMP_BYTES_MAX = 256 * 1024
ANSWER_S = 1.0
SETTLED_S = 0.06  # without another byte: faulthandler writes all of it at once
LOOK_EVERY_S = 0.01
_HEAD = Pattern(r"^holdfast stacks by signal (\d{1,2})\n")
_THREAD = Pattern(r"^(Current thread|Thread) 0x([0-9a-f]{1,16})")
_FRAME = Pattern(r'^  File "([^"]+)", line (\d{1,7}) in (\S+)$')


def is_armed(pid: int, dumps: Path) -> bool:
    """Whether this process writes its stacks when it gets that signal, and would not die of it."""
    return _signal_of(pid, dumps) is not None


def ask_for_dump(pid: int, dumps: Path, sources: Sources) -> tuple[ThreadStack, ...]:
    """The stacks that it wrote; none when it did not answer."""
    number = _signal_of(pid, dumps)
    place = dump_file(pid, dumps)
    if number is None:
        return ()
    try:
        before = place.stat().st_size
        os.kill(pid, number)
        text = _answer(place, before)
    except OSError:
        return ()
    return threads_in(text, sources)


def dump_file(pid: int, dumps: Path) -> Path:
    return dumps / f"{pid}.dump"


def threads_in(text: str, sources: Sources) -> tuple[ThreadStack, ...]:
    """What faulthandler wrote: the newest thread first, and the innermost frame first."""
    found: list[ThreadStack] = []
    for ident, lines in _blocks(text):
        frames, holds = [], []
        for path, line, function in reversed(lines):
            if not sources.is_absurd(path, line):
                frames.append(frame_text(path, line, function, sources))
                holds += sources.holds(path, function, line)
        found.append(
            ThreadStack(thread=ident, frames=tuple(frames[-FRAMES_MAX:]), holds=tuple(holds))
        )
    # The main thread is the oldest, so it comes last, and only its stack begins in a module.
    in_module = [thread for thread in found if thread.frames and " <module>" in thread.frames[0]]
    main = (in_module or found)[-1:]
    return (*main, *(thread for thread in found if thread not in main))[:THREADS_MAX]


def _blocks(text: str) -> Iterator[tuple[int, list[tuple[str, int, str]]]]:
    ident: int | None = None
    lines: list[tuple[str, int, str]] = []
    for row in text.splitlines():
        thread, frame = _THREAD.search(row), _FRAME.search(row)
        if thread:
            if ident is not None:
                yield ident, lines
            ident, lines = int(thread.group(2), 16), []
        elif frame:
            lines.append((frame.group(1), int(frame.group(2)), frame.group(3)))
    if ident is not None:
        yield ident, lines


def _signal_of(pid: int, dumps: Path) -> int | None:
    """The signal that it promised to answer, if it still catches it and holds the file open."""
    place = dump_file(pid, dumps)
    try:
        with place.open("rb") as file:
            head = _HEAD.search(file.read(64).decode("ascii", "replace"))
        number = int(head.group(1)) if head else 0
        if number < signal.SIGRTMIN or not _catches(pid, number) or not _holds_open(pid, place):
            return None
    except (OSError, ValueError):
        return None
    return number


def _catches(pid: int, number: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def _holds_open(pid: int, place: Path) -> bool:
    """A program that it became by exec has lost our file, and its signals are its own."""
    wanted = place.stat()
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            try:
                found = entry.stat()
            except OSError:
                continue
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                return True
    return False


def _answer(place: Path, before: int) -> str:
    """What was added to the file, once no more comes."""
    until_s = time.monotonic() + ANSWER_S
    size, changed_s = before, time.monotonic()
    while time.monotonic() < until_s:
        now = place.stat().st_size
        if now != size:
            size, changed_s = now, time.monotonic()
        elif size > before and time.monotonic() - changed_s >= SETTLED_S:
            break
        time.sleep(LOOK_EVERY_S)
    with place.open("rb") as file:
        file.seek(before)
        return file.read(DUMP_BYTES_MAX).decode("utf-8", "replace")
