"""What a task writes down of itself: a line for each step that it took and each checkpoint."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Notes:
    """One file per task, to which all who ever were this task append; nothing without a folder."""

    def __init__(self, folder: str | None) -> None:
        self._who = {"attempt": int(os.environ.get("HOLDFAST_ATTEMPT", "1")), "pid": os.getpid()}
        self._fd = -1
        if folder:
            task = os.environ["HOLDFAST_TASK"].replace(":", "-")
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            self._fd = os.open(Path(folder) / f"{task}.jsonl", flags, 0o644)

    @property
    def are_kept(self) -> bool:
        return self._fd >= 0

    def begins(self, step: int) -> None:
        """After so many steps of those before."""
        self._note("begins", step)

    def stepped(self, step: int, loss: float) -> None:
        if self.are_kept:  # else nobody waits for the value
            self._note("step", step, loss=round(float(loss), 6))

    def saving(self, step: int) -> None:
        self._note("saving", step)

    def saved(self, step: int) -> None:
        self._note("saved", step)

    @contextmanager
    def save(self, step: int) -> Iterator[None]:
        """Around a save: one that was begun and not ended has been cut short."""
        self.saving(step)
        yield
        self.saved(step)

    def _note(self, what: str, step: int, **more: float) -> None:
        """One write: a kill leaves whole lines."""
        if self.are_kept:
            line = {"at": time.time(), "what": what, "step": int(step), **self._who, **more}
            os.write(self._fd, json.dumps(line).encode() + b"\n")
