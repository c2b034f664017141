"""The words of the tasks' program that tell how it distributes its training: read, never run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from holdfast.model.facts import Fact
from holdfast.model.recovery_facts import ProgramRead
from holdfast.recover.strategy import mentions_in

PROGRAM_BYTES_MAX = 1 << 20
PROGRAMS_MAX = 8


def program_words(command: Sequence[str], where: dict[str, Any]) -> Iterator[Fact]:
    """Of the Python files that a command names: what they import is not looked at."""
    for name in [word for word in command if word.endswith(".py")][:PROGRAMS_MAX]:
        try:
            path = Path(name)
            if not path.is_file():
                continue
            with path.open("rb") as file:
                text = file.read(PROGRAM_BYTES_MAX).decode(errors="replace")
        except OSError:
            continue  # whoever starts it will hear of it
        if mentions := mentions_in(text):
            yield ProgramRead(path=name, mentions=mentions, **where)
