"""The looks at this host and from it that a check needs, all at once."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from holdfast.intake.target import Target
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, PathProbed, PortHeld, ProbeBlind, SpecRead
from holdfast.model.path import Outcome
from holdfast.model.spec import members
from holdfast.probes.clock import measure_clock
from holdfast.probes.environment import seen_environment
from holdfast.probes.folders import measure_folder
from holdfast.probes.host import measure_host
from holdfast.probes.limits import seen_limits
from holdfast.probes.net import is_here, own_port
from holdfast.probes.paths import Place, measure_paths, probe_paths
from holdfast.probes.program import chief_for_all, locks_switched_off
from holdfast.probes.versions import versions_of

PATHS_MAX = 2_000  # addresses looked at: more would take minutes
OWN_PORTS_MAX = 256
CONNECT_S, ANSWER_S = 3.0, 3.0
PATHS_AT_ONCE_MAX = 128
LATENCY_TRIES = 20
THREADS_MAX = 16
TICK_S = 0.1
FAREWELL_S = 0.3  # for probes to tidy up when they are told to go

Look = tuple[str, Callable[[], Iterable[Fact]]]  # a probe's name, and the look itself
Tick = Callable[[float, int], None]  # how long it has taken, and how many addresses were seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to look at beyond what every check looks at."""

    host: str
    task: TaskId | None = None  # whom this host is; None: whoever has an address here
    python: str = ""  # the tasks' interpreter; empty: the job's own, or the first on the PATH
    log_dirs: tuple[str, ...] = ()
    checkpoint_dirs: tuple[str, ...] = ()
    latency: bool = False


class Survey:
    """What is seen are facts; what was left out is in `notes`."""

    def __init__(self, target: Target, wishes: Wishes, *, tick: Tick) -> None:
        self.notes: list[str] = []
        self._target = target
        self._wishes = wishes
        self._tick = tick
        self._began_s = time.monotonic()
        self._paths_seen = 0
        self._places = self._all_places()

    def look(self) -> list[Fact]:
        """First what needs no answer of another look, then the rest."""
        pool = ThreadPoolExecutor(THREADS_MAX)
        try:
            facts = self._all(pool, self._first_looks())
            own = self._own(facts)
            facts += self._all(pool, self._second_looks(own))
        except KeyboardInterrupt:
            _let_go(pool)
            raise
        pool.shutdown()
        return [_rightly_held(fact, facts) for fact in facts]

    def _where(self) -> dict[str, Any]:
        return {
            "at_s": self._age_s(),
            "host": self._wishes.host,
            "task": None,
        }

    def _first_looks(self) -> Iterator[Look]:
        where, target, wishes = self._where, self._target, self._wishes
        env = {**os.environ, **(target.job.env if target.job else {})}
        yield "limits", lambda: seen_limits(where())
        yield "environment", lambda: [seen_environment(env, where())]
        if target.job is not None:
            command = target.job.command
            yield "program", lambda: locks_switched_off(command, where())
            yield "program", lambda: chief_for_all(command, where())
        yield "versions", lambda: [versions_of(self._interpreter(), where())]
        folders = [
            *((path, "logs") for path in wishes.log_dirs),
            *((path, "checkpoints") for path in wishes.checkpoint_dirs),
        ]
        if target.job is not None and target.job.run_dir and not wishes.log_dirs:
            folders.append((target.job.run_dir, "logs"))
        shared = next((path for path, purpose in folders if purpose == "checkpoints"), "")
        shared = shared or next((path for path, _ in folders), "")
        yield "clock", lambda: [measure_clock(where(), shared)]
        for path, purpose in folders:
            yield f"{purpose} directory {path}", _look_at_folder(path, purpose, where)
        if self._places:
            yield "paths", self._probed

    def _second_looks(self, own: dict[TaskId, str]) -> Iterator[Look]:
        job = self._target.job
        names = [str(task) for task in (job.tasks if job else own)]
        yield "host", lambda: [measure_host(self._where(), names)]
        for task, address in list(own.items())[:OWN_PORTS_MAX]:
            if address:
                yield f"address of {task}", _look_at_port(address, task, self._where)
        if self._wishes.latency and self._places:
            yield "paths", self._measured

    def _measured(self) -> Iterable[Fact]:
        host = self._wishes.host
        return measure_paths(self._places, tries=LATENCY_TRIES, at_s=self._age_s, host=host)

    def _probed(self) -> Iterable[Fact]:
        return probe_paths(
            self._places,
            at_s=self._age_s,
            host=self._wishes.host,
            connect_s=CONNECT_S,
            answer_s=ANSWER_S,
            at_once_max=PATHS_AT_ONCE_MAX,
            seen=self._count,
        )

    def _count(self, *_: object) -> None:
        self._paths_seen += 1

    def _age_s(self) -> float:
        return round(time.monotonic() - self._began_s, 3)

    def _all_places(self) -> list[Place]:
        """Every distinct address once, for whoever is first expected there."""
        expected: dict[str, TaskId] = {}
        for spec in self._target.specs:
            if isinstance(spec, SpecRead):
                for task, address in members(spec).items():
                    expected.setdefault(address, task)
        if len(expected) > PATHS_MAX:
            self.notes.append(f"only {PATHS_MAX:,} of {len(expected):,} addresses were looked at")
        pairs = list(expected.items())[:PATHS_MAX]
        return [Place(address=address, target=task) for address, task in pairs]

    def _interpreter(self) -> tuple[str, ...]:
        if self._wishes.python:
            return (self._wishes.python,)
        job = self._target.job
        if job and Path(job.command[0]).name.startswith("python"):
            return (job.command[0],)
        return (shutil.which("python3") or sys.executable,)

    def _own(self, facts: Sequence[Fact]) -> dict[TaskId, str]:
        """The tasks that belong on this host: the named one, and whose address is ours."""
        task = self._wishes.task
        looks = [fact for fact in facts if isinstance(fact, PathProbed)]
        ours = {ip for ip in {ip for look in looks for ip in look.ips} if is_here(ip)}
        here = {look.address for look in looks if ours.intersection(look.ips)}
        own: dict[TaskId, str] = {} if task is None else {task: ""}
        for spec in self._target.specs:
            if isinstance(spec, SpecRead):
                for member, address in members(spec).items():
                    if member == task or address in here:
                        own[member] = own.get(member) or address
        return own

    def _all(self, pool: ThreadPoolExecutor, looks: Iterable[Look]) -> list[Fact]:
        pending = [(name, pool.submit(_listed, look)) for name, look in looks]
        self._wait([future for _, future in pending])
        facts: list[Fact] = []
        for name, future in pending:
            try:
                facts += future.result()
            except Exception as error:  # noqa: BLE001 - one bad probe must not hide the others
                facts.append(ProbeBlind(probe=name, why=repr(error), **self._where()))
        return facts

    def _wait(self, futures: Sequence[Future[list[Fact]]]) -> None:
        left: set[Future[list[Fact]]] = set(futures)
        while left:
            _, left = wait(left, timeout=TICK_S)
            self._tick(time.monotonic() - self._began_s, self._paths_seen)


def _let_go(pool: ThreadPoolExecutor) -> None:
    """Somebody wants us gone: what can end by itself may, the rest of our children is ended."""
    pool.shutdown(wait=False, cancel_futures=True)
    _, left = psutil.wait_procs(psutil.Process().children(recursive=True), timeout=FAREWELL_S)
    for child in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(left, timeout=FAREWELL_S)


def _listed(look: Callable[[], Iterable[Fact]]) -> list[Fact]:
    return list(look())


def _look_at_folder(
    path: str, purpose: str, where: Callable[[], dict[str, Any]]
) -> Callable[[], Iterable[Fact]]:
    return lambda: measure_folder(path, purpose, where())


def _look_at_port(
    address: str, task: TaskId, where: Callable[[], dict[str, Any]]
) -> Callable[[], Iterable[Fact]]:
    return lambda: own_port(address, task, where())


def _rightly_held(fact: Fact, facts: Sequence[Fact]) -> Fact:
    """A port that is held by the very task that wants it has a holder of this job."""
    if not isinstance(fact, PortHeld):
        return fact
    answered = {
        look.name
        for look in facts
        if isinstance(look, PathProbed)
        and look.outcome == Outcome.ANSWERED
        and look.target == fact.task
    }
    return replace(fact, holder=fact.task) if str(fact.task) in answered else fact
