"""What the processes of a starting task really have: definition, sockets, libraries, idleness."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.agent.clock import Clock
from holdfast.agent.idle import IdleWatch
from holdfast.agent.work_written import WorkWritten
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.facts import (
    EnvironmentSeen,
    Fact,
    SocketsSeen,
    SpecRead,
    SpecUnreadable,
    TaskIdle,
)
from holdfast.model.pattern import AnyOf
from holdfast.model.spec import members, read_spec
from holdfast.model.waiting import WAITING_WORDS
from holdfast.probes.environment import environment_of, seen_environment
from holdfast.probes.links import Sockets, sockets_of
from holdfast.probes.paths import Place
from holdfast.probes.process import Children, ProcessStat, children_by_parent, descendants, stat_of
from holdfast.probes.versions import loaded_tensorflow, versions_of_process

IDLE_S = 4.0
PLACES_MAX = 64  # of a definition that is not the one we gave
PEERS_MAX = 64
AGAIN_S = 10.0  # how often sockets are told again


@dataclass(slots=True)
class Started:
    pid: int
    idle: IdleWatch
    trainer: int = 0  # the process that has loaded TensorFlow
    spec: SpecRead | SpecUnreadable | None = None  # what it uses, where that is not what we gave
    sockets: Sockets = field(default_factory=Sockets)
    told_s: float = 0.0  # when they were last told


class Processes:
    def __init__(
        self, run_dir: RunDir, cluster: ClusterSpec, *, host: str, clock: Clock, attempt: int = 1
    ) -> None:
        self._attempt = attempt
        self._run_dir = run_dir
        self._cluster = cluster
        self._host = host
        self._clock = clock
        self._tasks: dict[TaskId, Started] = {}
        self._gave = False
        self._waiting = AnyOf(WAITING_WORDS)

    def started(self, task: TaskId, pid: int) -> None:
        opened = partial(self._run_dir.open_log, task, self._attempt)
        streams = [opened(stream) for stream in ("out", "err")]
        written = WorkWritten(streams, self._waiting)
        # Whoever polls for its peers with a sleep in between waits as much as who does not.
        idle = IdleWatch(pid, written.bytes, timers_count=False, idle_s=IDLE_S)
        self._tasks[task] = Started(pid, idle)

    def ended(self, task: TaskId) -> None:
        self._tasks.pop(task, None)

    def look(self) -> list[Fact]:
        """What is new of every task, in one pass over /proc."""
        children = children_by_parent()
        facts: list[Fact] = []
        for task, started in self._tasks.items():
            own = stat_of(started.pid)
            if own is not None:
                facts += self._look_at(task, started, own, children)
        return facts

    def are_trying(self) -> bool:
        """Whether some task gets no answer to a connection."""
        return any(started.sockets.trying for started in self._tasks.values())

    def are_idle(self) -> bool:
        """Whether none of those who train does anything."""
        trainers = [one for task, one in self._tasks.items() if task.trains]
        return bool(trainers) and all(one.idle.is_idle for one in trainers)

    def are_foreign(self) -> bool:
        """Whether one listens at its own address without TensorFlow: no server of ours to ask."""
        return any(
            _port(self._cluster.addresses.get(task, "")) in started.sockets.listening
            for task, started in self._tasks.items()
            if not started.trainer
        )

    def have_tensorflow(self) -> bool:
        """Whether some task has come so far that it may open its port yet."""
        return any(started.trainer for started in self._tasks.values())

    def other_places(self) -> dict[TaskId, list[Place]]:
        """The addresses in definitions that are not ours: whether they lead anywhere."""
        given = self._cluster.addresses
        return {
            task: [
                Place(address, peer)
                for peer, address in members(started.spec).items()
                if given.get(peer) != address and peer != task
            ][:PLACES_MAX]
            for task, started in self._tasks.items()
            if isinstance(started.spec, SpecRead)
        }

    def _look_at(
        self, task: TaskId, started: Started, own: ProcessStat, children: Children
    ) -> Iterator[Fact]:
        tree = [own, *descendants(own.pid, children)]
        if not started.trainer:
            found = next((one.pid for one in reversed(tree) if loaded_tensorflow(one.pid)), 0)
            if found:
                started.trainer = found
                yield from self._loaded(task, started)
        yield from self._sockets(task, started, tree)
        idle_s = started.idle.look(self._clock.at_s(), children)
        if idle_s is not None:
            yield TaskIdle(idle_s=round(idle_s, 3), timers=True, **self._where(task))

    def _loaded(self, task: TaskId, started: Started) -> Iterator[Fact]:
        """It has just become what it is: from here on its environment is what counts."""
        where, pid = self._where(task), started.trainer
        environ = environment_of(pid)
        if environ is not None:
            text = environ.get("TF_CONFIG")
            if text != self._cluster.tf_config(task):
                yield from self._gave_once()
                started.spec = read_spec(text, source=f"pid {pid}", pid=pid, **where)
                yield started.spec
            seen = seen_environment(environ, where, pid)
            if _has_proxy(seen):
                yield from self._gave_once()
                yield seen
        if versions := versions_of_process(pid, where):
            yield versions

    def _gave_once(self) -> Iterator[Fact]:
        """The definition that everybody was given: one is enough to tell what differs."""
        if not self._gave:
            self._gave = True
            first = next(iter(self._tasks))
            text = self._cluster.tf_config(first)
            where = {**self._where(first), "task": None}
            yield read_spec(text, source="holdfast run", given=True, **where)

    def _sockets(self, task: TaskId, started: Started, tree: list[ProcessStat]) -> Iterator[Fact]:
        now = sockets_of([one.pid for one in tree])
        before, at_s = started.sockets, self._clock.at_s()
        changed = now.listening != before.listening or self._peers(now) != self._peers(before)
        # Of one that does nothing, that it is still so is worth a word.
        again = started.idle.is_idle and at_s - started.told_s >= AGAIN_S
        if changed or again or now.trying or before.trying:
            started.told_s = at_s
            yield SocketsSeen(
                listening=now.listening,
                connected=now.connected,
                trying=now.trying,
                **self._where(task),
            )
        started.sockets = now

    def _peers(self, sockets: Sockets) -> frozenset[str]:
        """To whom it is connected, of a cluster small enough to tell each change."""
        given = self._cluster.addresses.values()
        return frozenset(sockets.connected).intersection(given if len(given) <= PEERS_MAX else ())

    def _where(self, task: TaskId) -> dict[str, Any]:
        return {"at_s": self._clock.at_s(), "host": self._host, "task": task}


def _port(address: str) -> int:
    text = address.rpartition(":")[2]
    return int(text) if text.isdecimal() else 0


def _has_proxy(seen: EnvironmentSeen) -> bool:
    return any(name.endswith("_proxy") for name in seen.variables)
