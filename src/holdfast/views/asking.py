"""Asks a person whether to bring a job back, without holding up anybody else."""

import getpass
import os
import select
from collections.abc import Callable

from holdfast.model.recovery_facts import RemedyDecided

LINE_BYTES_MAX = 1_024
YES = frozenset({b"y", b"yes"})


class Asking:
    """One question at a time; whatever is no yes is a no."""

    def __init__(self, say: Callable[[str], None], answer: Callable[[bool, str], None]) -> None:
        self._say = say
        self._answer = answer
        self._asked: RemedyDecided | None = None
        self._answered = False

    def step(self, decided: RemedyDecided | None) -> None:
        """Ask once; then look whether a line has come."""
        if decided is None or decided.remedy != "ask":
            return
        if self._asked != decided:
            self._asked, self._answered = decided, False
            _typed()  # what was typed before the question is no answer to it
            self._say(f"{decided.would} the job? Type yes or no, then Enter")
        line = None if self._answered else _typed()
        if line is not None:
            self._answered = True
            self._answer(line.strip().lower() in YES, _name())


def _typed() -> bytes | None:
    """A line, if there is one; empty: there will never be any."""
    if not select.select([0], [], [], 0)[0]:
        return None
    return os.read(0, LINE_BYTES_MAX)


def _name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
