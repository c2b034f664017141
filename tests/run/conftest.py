"""Real runs of `holdfast run`: started, looked at while they live, and swept up afterwards."""

import contextlib
import fcntl
import json
import os
import pty
import secrets
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any, TypeVar

import pytest

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact, TaskStarted
from holdfast.model.watch_facts import StateChanged, TakenOver

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
WAIT_S = 40.0
LOOK_EVERY_S = 0.02
_MARKER = "HOLDFAST_TEST"
_LISTENING = "0A"

FactKind = TypeVar("FactKind", bound=Fact)


def until(condition: Callable[[], object], what: str, *, wait_s: float = WAIT_S) -> None:
    """Look again and again, until it is so."""
    deadline_s = time.monotonic() + wait_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {wait_s:g} s for: {what}"
        time.sleep(LOOK_EVERY_S)


def processes_with(entry: bytes) -> list[int]:
    """Live processes whose environment began with NAME=VALUE."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                if entry in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
    return found


def ports_listened_on() -> set[int]:
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    rows = [row.split() for table in tables for row in table.read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENING}


READER = b"holdfast.agent.scan"


class Job:
    """A `holdfast run` that was started: its front, its run directory, and what is left of it."""

    def __init__(self, front: "subprocess.Popen[bytes]", run_dir: Path, marker: str) -> None:
        self.front = front
        self.run_dir = run_dir
        self.marker = marker
        self.out_path = run_dir.with_name(f"{run_dir.name}.front.out")
        self.err_path = run_dir.with_name(f"{run_dir.name}.front.err")

    def wait(self, wait_s: float = WAIT_S) -> int:
        """The front's exit code, as a shell would say it."""
        code = self.front.wait(wait_s)
        return code if code >= 0 else 128 - code

    @property
    def out(self) -> str:
        return self.out_path.read_text(errors="replace")

    @property
    def err(self) -> str:
        return self.err_path.read_text(errors="replace")

    def log(self, task: str, stream: str = "out") -> bytes:
        """What a task has written so far; nothing before it was started."""
        path = self.run_dir / "logs" / f"{task.replace(':', '-')}.1.{stream}"
        return path.read_bytes() if path.exists() else b""

    def until_says(self, task: str, words: bytes, *, stream: str = "out") -> None:
        until(lambda: words in self.log(task, stream), f"{task} to say {words!r}")

    def facts(self, kind: type[FactKind]) -> list[FactKind]:
        """The journal's facts of a kind, also while it is being written."""
        try:
            with open_run_dir(self.run_dir) as run_dir:
                return [fact for fact in read_journal(run_dir).facts if isinstance(fact, kind)]
        except HoldfastError:
            return []

    def until_fact(self, kind: type[FactKind]) -> FactKind:
        until(lambda: self.facts(kind), f"a {kind.__name__} in the journal")
        return self.facts(kind)[0]

    def until_state(self, task: str, state: str) -> None:
        def states() -> list[str]:
            return [fact.state for fact in self.facts(StateChanged) if str(fact.task) == task]

        until(lambda: state in states(), f"{task} to be {state}", wait_s=2 * WAIT_S)

    def pid_of(self, task: str) -> int:
        def started() -> list[int]:
            return [fact.pid for fact in self.facts(TaskStarted) if str(fact.task) == task]

        until(started, f"{task} to be started")
        return started()[0]

    def helper(self, module: str) -> int:
        """The process of ours that runs a module: holdfast.supervisor, holdfast.agent.scan."""

        def running() -> list[int]:
            return [
                pid
                for pid in processes_with(f"{_MARKER}={self.marker}".encode())
                if module.encode() in cmdline_of(pid)
            ]

        until(running, f"{module} to run")
        return running()[0]

    @property
    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.run_dir / "report.json").read_text())
        return loaded

    @property
    def about(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.run_dir / "run.json").read_text())
        return loaded

    @property
    def root(self) -> tuple[str, str]:
        """Cause and culprit of the first finding."""
        first = self.report["findings"][0]
        return first["cause"], first["culprit"]

    def left(self) -> list[int]:
        """Processes of this run, ours and the tasks'."""
        return processes_with(f"{_MARKER}={self.marker}".encode())

    def nothing_is_left(self) -> None:
        """At the very moment when the front has ended, nothing of the run may be there.

        Only a reader whose supervisor was killed may still wait for a core: it takes what nobody
        else wants, and ends with its next look.
        """
        left = {pid: cmdline_of(pid) for pid in self.left()}
        if self.facts(TakenOver):
            left = {pid: line for pid, line in left.items() if READER not in line}
        assert left == {}
        until(lambda: not self.left(), "the reader of a killed supervisor to end")
        run_id = self.about["run_id"].encode()
        assert processes_with(b"HOLDFAST_RUN_ID=" + run_id) == []
        ports = {int(where.rpartition(":")[2]) for where in self.about["cluster"].values()}
        assert not ports & ports_listened_on()
        assert not (self.run_dir / "control.sock").exists()
        assert not (self.run_dir / "holder.sock").exists()
        assert (self.run_dir / "supervisor.log").read_text() == ""

    def sweep(self) -> None:
        """Whatever a failed test leaves, by its mark and its id."""
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.front.poll() is None:
            self.front.kill()
        self.front.wait()
        if self.front.stdout:
            self.front.stdout.close()


def cmdline_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class Start:
    """Starts jobs in a folder of their own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.jobs: list[Job] = []

    def __call__(
        self,
        *arguments: str,
        run_dir: str | None = None,
        env: Mapping[str, str] | None = None,
        front: tuple[str, ...] = (HOLDFAST,),
        **popen: Any,
    ) -> Job:
        """`holdfast run ARGUMENTS`; whatever else is given goes to Popen."""
        folder = self.place / (run_dir or f"run-{len(self.jobs)}")
        marker = secrets.token_hex(8)
        out = folder.with_name(f"{folder.name}.front.out")
        err = folder.with_name(f"{folder.name}.front.err")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            settings = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr, **popen}
            process = subprocess.Popen(
                [*front, "run", "--run-dir", str(folder), *arguments],
                env={**os.environ, **(env or {}), _MARKER: marker},
                **{"cwd": self.place, **settings},
            )
        job = Job(process, folder, marker)
        self.jobs.append(job)
        return job

    def join(self, job: Job, *words: str, **popen: Any) -> Job:
        """`holdfast WORDS` beside a job, with the same mark: another front of it."""
        name = f"{job.run_dir.name}.front-{len(self.jobs)}"
        out, err = (self.place / f"{name}.{stream}" for stream in ("out", "err"))
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [HOLDFAST, *words],
                env={**os.environ, _MARKER: job.marker},
                **{"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr, **popen},
            )
        joined = Job(process, job.run_dir, job.marker)
        joined.out_path, joined.err_path = out, err
        self.jobs.append(joined)
        return joined

    def script(self, name: str, text: str) -> str:
        """A little program in a file of its own."""
        path = self.place / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def sweep(self) -> None:
        for job in self.jobs:
            job.sweep()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started = Start(tmp_path)
    yield started
    started.sweep()


@pytest.fixture(scope="module")
def start_early(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """For jobs that take their time: all of a file's are started before its first test."""
    started = Start(tmp_path_factory.mktemp("early"))
    yield started
    started.sweep()


class Terminal:
    """A person's terminal: the job's front has it as its own, and we are the person."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.seen = b""
        self.resize(100)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", 30, columns, 0, 0))

    @property
    def settings(self) -> dict[str, Any]:
        """For Popen: a session whose controlling terminal this is, as a shell's is."""
        return {
            **dict.fromkeys(("stdin", "stdout", "stderr"), self.slave),
            "start_new_session": True,
            "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        }

    @property
    def text(self) -> str:
        return self.seen.decode(errors="replace")

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def stop(self) -> None:
        """Ctrl-S."""
        termios.tcflow(self.slave, termios.TCOOFF)

    def go_on(self) -> None:
        """Ctrl-Q."""
        termios.tcflow(self.slave, termios.TCOON)

    def read(self) -> bool:
        """Take what is there; whether there was anything."""
        if not select.select([self.master], [], [], LOOK_EVERY_S)[0]:
            return False
        self.seen += os.read(self.master, 1 << 16)
        return True

    def until_shows(self, words: str) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while words not in self.text:
            self.read()
            assert time.monotonic() < deadline_s, f"{words!r} is not in {self.text[-500:]!r}"

    def wait(self, job: Job) -> int:
        """Read on until the front has ended, and then what it said last."""
        until(lambda: (self.read(), job.front.poll() is not None)[1], "the front to end")
        while self.read():
            pass
        return job.wait()

    def close(self) -> None:
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    opened = Terminal()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def poll_until() -> Callable[..., None]:
    return until


Called = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def holdfast(tmp_path: Path) -> Called:
    """Any command of ours, to its end."""

    def call(*arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [HOLDFAST, *arguments],
            check=False,
            text=True,
            timeout=WAIT_S,
            **{"cwd": tmp_path, "stdout": PIPE, "stderr": PIPE, **settings},
        )

    return call
