"""Whom a tool accuses: how the logs of TensorFlow and the report of torchrun are read.

TensorFlow alone: the earliest line after the fault that names a task with an error, in any log.
An error is a line of level E or F, `ERROR:tensorflow:`, what a session calls an error, and the
last line of a traceback, each with the lines that go on with it. A traceback of the user's own
code names nobody, and lies in the log of the task that failed: it counts as naming that task.
torchrun: its own report of the first failure that it observed, or its first line that says which
process failed. What its processes print by themselves is not its word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WORDS_MAX, HEAD_MAX = 120, 50
_LEVEL = re.compile(
    r"^(?:\d{4}-\d\d-\d\d [\d:.]+: (?P<old>[IWEF]) |(?P<new>[IWEF])\d{4} [\d:.]+ +\d+ )"
    r"(?:\S+:\d+\] )?(?P<text>.*)"
)
_LOGGED = re.compile(r"^(?P<level>[A-Z]+):tensorflow:(?P<text>.*)")
_RAISED = re.compile(r"^(?P<what>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b.*")
_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")
_TRACEBACK = "Traceback (most recent call last):"
_PEERS_FAULT = "tensorflow.python.framework.errors_impl."
_FAILED = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<of>\d+)")
_RANK = re.compile(r"^\s*rank\s*: (?P<of>\d+)")
_CODE = re.compile(r"^\s*exitcode\s*: (?P<code>.*)")


@dataclass(frozen=True, slots=True)
class Word:
    """What was said of whom; it was said when it was read."""

    names: tuple[str, ...]
    text: str

    def is_right(self, task: str) -> bool:
        return self.names == (task,)


@dataclass(slots=True)
class Tail:
    """The whole lines that have come to a file since the last look."""

    file: Path
    _read: int = 0

    def lines(self) -> list[str]:
        if not self.file.exists():
            return []
        with self.file.open("rb") as file:
            file.seek(self._read)
            fresh = file.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.decode(errors="replace").splitlines()


@dataclass(slots=True)
class TensorFlowLog:
    """One task's log, read line by line."""

    task: str
    _is_error: bool = field(default=False)
    _in_traceback: bool = field(default=False)
    _head: str = ""  # the first line of the error

    def words(self, line: str) -> Iterator[Word]:
        goes_on = self._is_error
        text = self._follow(line)
        if not goes_on or text is not line:
            self._head = text
        if self._is_error and (named := _named(line)):
            head = "" if text is self._head else f"{_short(self._head, HEAD_MAX)} "
            yield Word(named, _short(f"{head}{text}"))
        elif self._is_own_fault(line):
            yield Word((self.task,), _short(text))
        if _RAISED.match(line):
            self._in_traceback = False

    def _follow(self, line: str) -> str:
        """What the line says without its head; and whether it belongs to an error."""
        if line.startswith(_TRACEBACK):
            self._in_traceback, self._is_error = True, False
        elif found := _LEVEL.match(line):
            self._is_error = (found["old"] or found["new"]) in {"E", "F"}
            return found["text"]
        elif found := _LOGGED.match(line):
            said = found["text"].startswith("An error was raised")
            self._is_error = said or found["level"] in {"ERROR", "FATAL", "CRITICAL"}
            return found["text"]
        elif self._in_traceback and _RAISED.match(line):
            self._is_error = True
        elif line.startswith("step "):
            self._is_error = False
        return line

    def _is_own_fault(self, line: str) -> bool:
        raised = _RAISED.match(line)
        return bool(self._in_traceback and raised and not raised["what"].startswith(_PEERS_FAULT))


@dataclass(slots=True)
class TorchrunReport:
    """The agent's own words among what its processes print."""

    _in_cause: bool = False
    _rank: str = ""

    def words(self, line: str) -> Iterator[Word]:
        if found := _FAILED.search(line):
            yield Word((f"worker:{found['of']}",), _short(found[0]))
        elif "Root Cause (first observed failure)" in line:
            self._in_cause = True
        elif self._in_cause and (found := _RANK.match(line)):
            self._rank = found["of"]
        elif self._in_cause and self._rank and (found := _CODE.match(line)):
            text = f"Root Cause (first observed failure): rank {self._rank}, {found['code']}"
            yield Word((f"worker:{self._rank}",), _short(text))
            self._in_cause = False


def _named(line: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{role}:{index}" for role, index in _TASK.findall(line)))


def _short(text: str, characters_max: int = WORDS_MAX) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= characters_max else plain[: characters_max - 1] + "…"
