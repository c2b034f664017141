"""Starts a real TensorFlow cluster without Holdfast, for those who look at it from outside."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.fault import Config, Effect
from bench.launcher import load
from bench.output.envs import bin_of
from bench.starts import is_listening

HERE = Path(__file__).parent
PORT_FIRST, PORT_LAST = 20_000, 32_000
POLL_S = 0.1
END_S_MAX = 10.0
LOG_BYTES_MAX = 1 << 20
ENV = {"CUDA_VISIBLE_DEVICES": ""}


@dataclass(frozen=True, slots=True)
class Workload:
    program: str
    roles: Mapping[str, int]
    options: tuple[str, ...] = ()
    env: str = ""  # the name of its environment, where it is not ours

    def command(self, *options: str) -> list[str]:
        program = HERE / "workloads" / f"{self.program}.py"
        python = str(bin_of(self.env) / "python") if self.env else sys.executable
        return [python, str(program), *self.options, *options]

    def run_options(self, roles: Mapping[str, int] | None = None) -> list[str]:
        """For `holdfast run`."""
        wanted = roles or self.roles
        flags = ["--chief"] if wanted.get("chief") else []
        return [*flags, "--ps", str(wanted.get("ps", 0)), "--workers", str(wanted["worker"])]


WORKLOADS = {
    "mirrored": Workload("mirrored", {"worker": 3}),
    "parameter_server": Workload("parameter_server", {"chief": 1, "ps": 1, "worker": 2}),
    "session": Workload("session", {"ps": 1, "worker": 2}),
    "session_unfiltered": Workload(
        "session", {"ps": 1, "worker": 2}, options=("--no-device-filters",)
    ),
}
Spawn = Callable[..., "subprocess.Popen[Any]"]


class Cluster:
    """One process per task, each with a log; all are killed at the end of the `with`."""

    def __init__(
        self,
        workload: str,
        folder: Path,
        *,
        fault: str = "healthy",
        roles: Mapping[str, int] | None = None,
        options: Sequence[str] = (),
        hosts: Mapping[str, str] | None = None,  # task -> the address of its host
        spawn: Callable[[str], Spawn] | None = None,  # task -> who starts processes on its host
    ) -> None:
        self.workload = WORKLOADS[workload]
        self.fault = load(fault)
        self._fault_name = fault
        self._folder = folder
        self._options = options
        self._spawn = spawn or (lambda task: subprocess.Popen)
        self.roles = dict(roles or self.workload.roles)
        self.tasks = [f"{role}:{n}" for role, count in self.roles.items() for n in range(count)]
        ports = free_ports(len(self.tasks))
        self.addresses = {
            task: f"{(hosts or {}).get(task, '127.0.0.1')}:{port}"
            for task, port in zip(self.tasks, ports, strict=True)
        }
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def handed(self, task: str) -> Config:
        """The correct TF_CONFIG of a task, before the fault."""
        role, _, index = task.partition(":")
        cluster = {
            name: [self.addresses[f"{name}:{n}"] for n in range(count)]
            for name, count in self.roles.items()
        }
        return {"cluster": cluster, "task": {"type": role, "index": int(index)}}

    def used(self, task: str) -> str | None:
        """What the task has for TF_CONFIG, the fault included; None: nothing at all."""
        config = self.fault.config_of(task, self.handed(task))
        return json.dumps(config) if isinstance(config, dict) else config

    def write_configs(self) -> Path:
        """A file per task with the TF_CONFIG that it uses; who has none gets no file."""
        folder = self._folder / "specs"
        folder.mkdir(exist_ok=True)
        for task in self.tasks:
            text = self.used(task)
            if text is not None:
                self.config_file(task).write_text(text)
        return folder

    def config_file(self, task: str) -> Path:
        return self._folder / "specs" / f"{task.replace(':', '-')}.json"

    def healthy_task(self) -> str:
        """One whom the fault does not touch: who tells us about the cluster."""
        spared = [task for task in self.tasks if task not in self.fault.tasks]
        return next((task for task in spared if task.partition(":")[0] != "ps"), spared[0])

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.write_configs()
        try:
            for task in self.tasks:
                self.started[task] = self._start(task)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def _start(self, task: str) -> "subprocess.Popen[bytes]":
        launcher = [sys.executable, str(HERE / "launcher.py"), "--fault", self._fault_name]
        command = [
            *launcher,
            "--end-with-parent",
            "--task",
            task,
            "--",
            *self.workload.command(*self._options),
        ]
        ours = {name for name in os.environ if name.startswith("HOLDFAST_")}
        env = {name: value for name, value in os.environ.items() if name not in ours}
        env.update(ENV, TF_CONFIG=json.dumps(self.handed(task)))
        with self.log_file(task).open("ab") as log:
            return self._spawn(task)(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self) -> None:
        """Kill every task with all its children: a mirrored worker does not obey SIGTERM."""
        for process in self.started.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.started.values():
            process.wait(END_S_MAX)

    def log_file(self, task: str) -> Path:
        return self._folder / f"{task.replace(':', '-')}.log"

    def log(self, task: str) -> str:
        with self.log_file(task).open("rb") as file:
            return file.read(LOG_BYTES_MAX).decode(errors="replace")

    def exit_code(self, task: str) -> int | None:
        return self.started[task].poll()

    def port(self, task: str) -> int:
        return int(self.addresses[task].rpartition(":")[2])

    def listens(self, task: str) -> bool:
        process = self.started[task]
        return process.poll() is None and is_listening(self.port(task), process.pid)

    def wait_listening(self, tasks: Sequence[str], within_s: float) -> list[str]:
        """Wait until all of these listen or have ended; those that still do not."""
        deadline_s = time.monotonic() + within_s
        while True:
            missing = [
                task for task in tasks if self.exit_code(task) is None and not self.listens(task)
            ]
            if not missing or time.monotonic() > deadline_s:
                return missing
            time.sleep(POLL_S)

    def effect(self) -> Effect:
        """What TensorFlow makes of it so far; the chief, or else worker 0, speaks for all."""
        if any(process.poll() for process in self.started.values()):
            return Effect.DIES
        return Effect.TRAINS if "\nstep " in f"\n{self.log(self.leader)}" else Effect.BLOCKS

    @property
    def leader(self) -> str:
        return "chief:0" if "chief:0" in self.tasks else "worker:0"

    def settled_effect(self, within_s: float) -> Effect:
        """The effect once it cannot change any more, or when the time is over."""
        deadline_s = time.monotonic() + within_s
        while time.monotonic() < deadline_s:
            if self.effect() is Effect.DIES or self.exit_code(self.leader) == 0:
                break
            time.sleep(POLL_S)
        return self.effect()


def free_ports(count: int) -> list[int]:
    """Below the kernel's range for outgoing connections, in an order that differs per process."""
    found: list[int] = []
    for port in random.sample(range(PORT_FIRST, PORT_LAST), PORT_LAST - PORT_FIRST):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("0.0.0.0", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError("no free ports are left")
