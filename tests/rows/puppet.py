"""A process that does what a test tells it, line by line: `python -m tests.rows.puppet`.

Each line is a piece of Python; the answer is the value of `said` after it, or what was raised.
"""

import code
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]


class Puppet:
    """One such process, guarded as the given task; an empty task: not guarded."""

    def __init__(self, task: str, *, locking: str = "FALSE") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.rows.puppet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                "HDF5_USE_FILE_LOCKING": locking,
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONPATH": str(ROOT / "src"),
            },
        )
        self.do("import h5py, os, threading, time\nfrom holdfast.rows import guard, lease")
        if task:
            self.do(f"guard.install({task!r})")

    @property
    def pid(self) -> int:
        return self.process.pid

    def do(self, lines: str) -> str:
        """What it answers; what it raises begins with the kind of error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(lines) + "\n")
        self.process.stdin.flush()
        return str(json.loads(self.process.stdout.readline()))

    def open(self, path: Path, mode: str = "a", *, name: str = "f") -> str:
        return self.do(f"{name} = h5py.File({str(path)!r}, {mode!r})")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """As a program that has come to its end."""
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.communicate()


class _Stage(code.InteractiveInterpreter):
    """What is raised is the answer."""

    def showtraceback(self) -> None:
        kind, error, _ = sys.exc_info()
        self.locals["said"] = f"{kind.__name__ if kind else ''}: {error}"


def play() -> None:
    names: dict[str, object] = {}
    stage = _Stage(names)
    for line in sys.stdin:
        names["said"] = ""
        stage.runcode(compile(json.loads(line), "told", "exec"))
        sys.stdout.write(json.dumps(str(names["said"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    play()
