"""A situation that a user described, our own version of it, and what the user must be told."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

HOLDFAST = (sys.executable, "-m", "holdfast")
PROGRAMS = Path(__file__).parent / "programs"
POLL_S = 0.05
END_S_MAX = 120.0  # on a busy machine the last lines and the report take their time


@dataclass(frozen=True, slots=True)
class Told:
    """What the user was told, in a few words; whether it is what they needed; after how long."""

    says: str
    right: bool
    after_s: float | None = None  # from the moment at which it could have been known


@dataclass(frozen=True, slots=True)
class Situation:
    name: str  # as the list of situations has it, and a word: `A1-sleeps`
    must: str  # what the user must be told, or must get
    play: Callable[[Path], Told]  # in an empty folder of its own
    lack: Callable[[], str] = field(default=lambda: "")  # why it cannot be tried here


@dataclass(slots=True)
class Run:
    """A program under `holdfast run`, as a user starts it; nothing of it is left afterwards."""

    folder: Path
    options: Sequence[str]
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    began_s: float = field(default_factory=time.time)
    front: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        run = ("run", "--run-dir", str(self.run_dir), "--grace-s", "1")
        command = [*HOLDFAST, *run, *self.options, "--", *self.command]
        env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **self.env}
        with (self.folder / "front.out").open("wb") as out:
            self.front = subprocess.Popen(
                command, stdout=out, stderr=out, env=env, cwd=self.folder, start_new_session=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def run_dir(self) -> Path:
        return self.folder / "run"

    @property
    def text(self) -> str:
        return (self.folder / "front.out").read_text(errors="replace")

    def told(self) -> list[Mapping[str, Any]]:
        """What was told while it ran: a line of findings.jsonl each."""
        path = self.run_dir / "findings.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def until(self, enough: Callable[["Run"], bool], within_s: float) -> float | None:
        """The seconds until then; None: it did not come, or the run was over before."""
        began_s = time.monotonic()
        while time.monotonic() - began_s < within_s:
            if enough(self):
                return time.monotonic() - began_s
            if self.front is None or self.front.poll() is not None:
                return time.monotonic() - began_s if enough(self) else None
            time.sleep(POLL_S)
        return None

    def wait(self, within_s: float) -> int | None:
        """Its exit code, when it ends by itself."""
        assert self.front is not None
        try:
            return self.front.wait(within_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> int:
        """As a user ends it: Ctrl-C."""
        assert self.front is not None
        if self.front.poll() is None:
            self.front.send_signal(signal.SIGINT)
            try:
                self.front.wait(END_S_MAX)
            except subprocess.TimeoutExpired:
                self.front.kill()
        return self.front.wait()

    def report(self) -> Mapping[str, Any]:
        """What is left to read once it is over."""
        found: Mapping[str, Any] = json.loads((self.run_dir / "report.json").read_text())
        return found


def words_of(findings: Sequence[Mapping[str, Any]]) -> str:
    """The first that is worth reading, in the user's words."""
    worth = [one for one in findings if one["severity"] != "info"]
    return (
        f"{worth[0]['severity']}[{worth[0]['cause']}]: {worth[0]['says']}" if worth else "nothing"
    )


def program(name: str, *options: str) -> list[str]:
    return [sys.executable, str(PROGRAMS / f"{name}.py"), *options]
