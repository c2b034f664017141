"""One job under each of three tools, ready to be struck: Holdfast, TensorFlow alone, torchrun."""

import contextlib
import os
import signal
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.cluster import HERE, Cluster
from bench.output.envs import bin_of
from bench.peers_words import Tail, TensorFlowLog, TorchrunReport, Word
from bench.struck import GONE, Stage, StruckJob, state_of

TORCH_PROGRAM = HERE / "workloads" / "torch_mirrored.py"
# torchrun says who a process is by RANK only; our workloads want to know by name.
TORCH_TASK = 'export HOLDFAST_TASK=worker:$RANK; exec "$@"'
END_S_MAX = 15.0


class Job(Protocol):
    """A job that runs under a tool."""

    @abstractmethod
    def pid(self, task: str) -> int:
        """Of the process that trains."""

    @abstractmethod
    def steps(self) -> int:
        """The last step that anybody told of."""

    @abstractmethod
    def words(self) -> list[Word]:
        """What the tool has said since the last time."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nobody will say anything any more."""


class HoldfastJob:
    def __init__(self, struck: StruckJob) -> None:
        self._struck = struck
        self._said = 0

    def pid(self, task: str) -> int:
        return self._struck.main_pid(task)

    def steps(self) -> int:
        return self._struck.step(self._struck.stage.leader)

    def words(self) -> list[Word]:
        self._struck.poll()
        fresh = self._struck.heard[self._said :]
        self._said = len(self._struck.heard)
        return [
            Word(
                (heard.finding["culprit"],) if heard.finding["culprit"] else (),
                f"{heard.finding['cause']}: {heard.finding['says']}",
            )
            for heard in fresh
            if heard.accuses
        ]

    @property
    def is_over(self) -> bool:
        return self._struck.is_over


class AloneJob:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._logs = {
            task: (Tail(cluster.log_file(task)), TensorFlowLog(task)) for task in cluster.tasks
        }

    def pid(self, task: str) -> int:
        return self._cluster.started[task].pid

    def steps(self) -> int:
        return last_step(self._cluster.log_file(self._cluster.leader))

    def words(self) -> list[Word]:
        return [
            word
            for tail, log in self._logs.values()
            for line in tail.lines()
            for word in log.words(line)
        ]

    @property
    def is_over(self) -> bool:
        return all(process.poll() is not None for process in self._cluster.started.values())


class TorchrunJob:
    def __init__(self, agent: "subprocess.Popen[bytes]", console: Path) -> None:
        self._agent = agent
        self._console = console
        self._tail = Tail(console)
        self._report = TorchrunReport()

    def pid(self, task: str) -> int:
        mark = f"HOLDFAST_TASK={task}".encode()
        for pid in _children(self._agent.pid):
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    return pid
        raise RuntimeError(f"{task} is not there: see {self._console}")

    def steps(self) -> int:
        return last_step(self._console)

    def words(self) -> list[Word]:
        return [word for line in self._tail.lines() for word in self._report.words(line)]

    @property
    def is_over(self) -> bool:
        return self._agent.poll() is not None


@contextlib.contextmanager
def under_holdfast(stage: Stage) -> Iterator[Job]:
    with StruckJob(stage) as struck:
        yield HoldfastJob(struck)


@contextlib.contextmanager
def alone(stage: Stage) -> Iterator[Job]:
    def spawn(task: str) -> Callable[..., "subprocess.Popen[Any]"]:
        def popen(command: list[str], **rest: Any) -> "subprocess.Popen[Any]":
            rest["env"] = {**rest["env"], "HOLDFAST_TASK": task}
            return subprocess.Popen([*stage.wrap, *command], **rest)

        return popen

    with Cluster(stage.workload, stage.folder, options=stage.options, spawn=spawn) as cluster:
        yield AloneJob(cluster)


@contextlib.contextmanager
def under_torchrun(stage: Stage) -> Iterator[Job]:
    """As it is by default: no restarts, no redirects."""
    place = bin_of("torch")
    options = ["--standalone", "--nproc-per-node", str(stage.roles["worker"]), "--no-python"]
    program = [str(place / "python"), str(TORCH_PROGRAM), *stage.options]
    task = ["sh", "-c", TORCH_TASK, "sh", *stage.wrap, *program]
    console = stage.folder / "console"
    with console.open("wb") as out:
        agent = subprocess.Popen(
            [str(place / "python"), "-m", "torch.distributed.run", *options, *task],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield TorchrunJob(agent, console)
    finally:
        _end_all(agent)


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    start: Callable[[Stage], contextlib.AbstractContextManager[Job]]
    only: tuple[str, ...] = ()  # workloads; none: all


TOOLS = (
    Tool("Holdfast", under_holdfast),
    Tool("TensorFlow alone", alone),
    Tool("torchrun", under_torchrun, only=("mirrored",)),
)


def is_gone(pid: int) -> bool:
    return state_of(pid) in GONE


def last_step(log: Path) -> int:
    """The last step that a log tells of; 0: none yet."""
    if not log.exists():
        return 0
    lines = log.read_text(errors="replace").splitlines()
    steps = [line.split()[1] for line in lines if line.startswith("step ")]
    return int(steps[-1]) if steps else 0


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _end_all(agent: "subprocess.Popen[bytes]") -> None:
    """The agent last: it would take the death of a process for another failure."""
    for pid in (*_children(agent.pid), agent.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    agent.wait(END_S_MAX)
    time.sleep(0.1)  # until those that it has left behind are gone
