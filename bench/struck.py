"""A job under `holdfast run` that is about to be struck, and what its run directory tells."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bench.cluster import WORKLOADS, Workload
from bench.network import Network

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.codec import encode
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import TaskStarted

POLL_S = 0.02
STARTED_S_MAX = 60.0
STOP_S_MAX, STRUCK_STOP_S_MAX = 20.0, 5.0
GRACE_S = 1
HOLDFAST = (sys.executable, "-m", "holdfast")
GONE = frozenset({"Z", "X", ""})  # the kernel's letters for who is no more


@dataclass(slots=True, kw_only=True)
class Stage:
    """What is known before the job starts; its surroundings add to it."""

    workload: str
    task: str  # who is struck
    folder: Path
    program: Workload | None = None  # where it is not the one that is known by that name
    options: list[str] = field(default_factory=list)
    run_options: list[str] = field(default_factory=list)  # more for `holdfast run`
    wrap: list[str] = field(default_factory=list)  # a program in front of every task
    cgroup: Path | None = None
    net: Network | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)  # task -> its host on the network
    addresses: Mapping[str, str] = field(default_factory=dict)  # none: Holdfast chooses

    @property
    def played(self) -> Workload:
        return self.program or WORKLOADS[self.workload]

    @property
    def roles(self) -> Mapping[str, int]:
        return self.played.roles

    @property
    def tasks(self) -> list[str]:
        return [f"{role}:{n}" for role, count in self.roles.items() for n in range(count)]

    @property
    def leader(self) -> str:
        return "chief:0" if "chief" in self.roles else "worker:0"

    @property
    def checkpoint_dir(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def trigger(self) -> Path:
        return self.folder / "fail-now"

    @property
    def fault_at(self) -> Path:
        return self.folder / "fault-at"

    def arguments(self) -> list[str]:
        """Those of `holdfast run`: a job file where the addresses are ours to say."""
        command = [*self.wrap, *self.played.command(*self.options)]
        options = ["--run-dir", str(self.folder / "run"), *self.run_options]
        if not self.addresses:
            roles = self.played.run_options()
            return [*options, "--grace-s", str(GRACE_S), *roles, "--", *command]
        job = self.folder / "job.toml"
        roles = [
            f"{'workers' if role == 'worker' else role} = {json.dumps(count)}"
            for role, count in self.roles.items()
            if role != "chief"
        ]
        places = [
            f"{role} = {json.dumps([self.addresses[f'{role}:{n}'] for n in range(count)])}"
            for role, count in self.roles.items()
        ]
        chief = ["chief = true"] if "chief" in self.roles else []
        told = [f"command = {json.dumps(command)}", f"grace_s = {GRACE_S}", *chief, *roles]
        job.write_text("\n".join([*told, "[addresses]", *places, ""]))
        return [*options, str(job)]


@dataclass(frozen=True, slots=True)
class Heard:
    """A line of findings.jsonl, and when it came."""

    at_unix_s: float
    finding: Mapping[str, Any]

    @property
    def name(self) -> tuple[str, str | None]:
        return self.finding["cause"], self.finding["culprit"]

    @property
    def is_error(self) -> bool:
        return bool(self.finding["severity"] == "error")

    @property
    def accuses(self) -> bool:
        """A note about the machine accuses nobody; a warning does when it names a task."""
        warns = self.finding["severity"] == "warning" and self.finding["culprit"] is not None
        return self.is_error or warns


class StruckJob:
    """`with StruckJob(stage) as job:`; nothing of it is left afterwards."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.run_dir = stage.folder / "run"
        self.heard: list[Heard] = []
        self.struck_s: float | None = None  # Unix time, as all moments here
        self.died_s: float | None = None  # when the struck task was no more
        self.undo = contextlib.ExitStack()  # what ends the strike
        self._findings_read = 0
        self._pids: dict[str, int] = {}
        self._watched: int | None = None
        self.front: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        with (self.stage.folder / "front.out").open("wb") as out:
            command = [*HOLDFAST, "run", *self.stage.arguments()]
            self.front = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.undo.close()
        self._sweep()

    def pid(self, task: str) -> int:
        """Of the process that Holdfast has started for a task."""
        deadline_s = time.monotonic() + STARTED_S_MAX
        while task not in self._pids:
            for fact in self.facts():
                if isinstance(fact, TaskStarted):
                    self._pids[str(fact.task)] = fact.pid
            if time.monotonic() > deadline_s or (self.is_over and task not in self._pids):
                raise RuntimeError(f"{task} did not start: see {self.stage.folder}")
            time.sleep(POLL_S)
        return self._pids[task]

    def main_pid(self, task: str) -> int:
        """Of the process that trains: below a wrapper, where there is one."""
        pid = self.pid(task)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        programs = [int(child) for child in children if b"workloads/" in cmdline_of(int(child))]
        return programs[0] if programs else pid

    def facts(self) -> list[Any]:
        try:
            with open_run_dir(self.run_dir) as run_dir:
                return list(read_journal(run_dir).facts)
        except HoldfastError:
            return []

    @property
    def is_over(self) -> bool:
        return self.front.poll() is not None

    def log(self, task: str, stream: str = "out") -> str:
        path = self.run_dir / "logs" / f"{task.replace(':', '-')}.1.{stream}"
        return path.read_text(errors="replace") if path.exists() else ""

    def step(self, task: str) -> int:
        """The last step that a task has told of."""
        steps = [line.split()[1] for line in self.log(task).splitlines() if line[:5] == "step "]
        return int(steps[-1]) if steps else 0

    def watch_death(self, task: str) -> None:
        self._watched = self.main_pid(task)

    def poll(self) -> None:
        """What is new in the run directory, and whether the struck task lives."""
        if self._watched is not None and self.died_s is None and state_of(self._watched) in GONE:
            self.died_s = time.time()
        with contextlib.suppress(FileNotFoundError):
            fresh = (self.run_dir / "findings.jsonl").read_bytes()[self._findings_read :]
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._findings_read += len(whole)
            for line in whole.splitlines():
                self.heard.append(Heard(time.time(), json.loads(line)))

    def until(self, condition: Callable[[], object], within_s: float) -> bool:
        """Whether it came to be so in time, while the job lived."""
        deadline_s = time.monotonic() + within_s
        while True:
            over = self.is_over  # asked first: what it said last is read after this
            self.poll()
            if condition():
                return True
            if over or time.monotonic() > deadline_s:
                return False
            time.sleep(POLL_S)

    def end(self) -> None:
        """As a person does who has read enough: the strike lasts on, unless it is in the way."""
        self._stop(within_s=STRUCK_STOP_S_MAX)
        self.undo.close()  # who hangs in a frozen disk or cgroup cannot even be killed
        self._stop(within_s=STOP_S_MAX)
        self._stop("--now", within_s=STOP_S_MAX)

    def _stop(self, *how: str, within_s: float) -> None:
        if self.is_over:
            return
        stop = [*HOLDFAST, "stop", *how, str(self.run_dir)]
        subprocess.run(stop, check=False, capture_output=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.front.wait(within_s)

    def report(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads((self.run_dir / "report.json").read_text())
            return found
        return {}

    def keep(self, place: Path) -> None:
        """The journal as a fixture has it, and what was said."""
        place.mkdir(parents=True, exist_ok=True)
        lines = [encode(fact) + b"\n" for fact in self.facts()]
        (place / "journal.jsonl").write_bytes(b"".join(lines))
        for name in ("findings.jsonl", "report.json", "run.json"):
            with contextlib.suppress(FileNotFoundError):
                (place / name).write_bytes((self.run_dir / name).read_bytes())

    def _sweep(self) -> None:
        """Whatever is left, by the mark that every process of the run carries."""
        with contextlib.suppress(OSError, ValueError):
            run_id = json.loads((self.run_dir / "run.json").read_text())["run_id"]
            for pid in _marked(f"HOLDFAST_RUN_ID={run_id}".encode()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.front.pid, signal.SIGKILL)
        self.front.wait()


def state_of(pid: int) -> str:
    """The kernel's letter for a process; empty: there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def cmdline_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _marked(entry: bytes) -> list[int]:
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            with contextlib.suppress(OSError):
                if entry in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
    return found
