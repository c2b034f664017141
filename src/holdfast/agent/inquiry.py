"""Asks a running cluster who is who, from outside: no agent, and nothing in it changes."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from holdfast.agent.watch_attached import AttachedTasks
from holdfast.model.address import Address, Complaint, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadInput
from holdfast.model.facts import (
    Fact,
    PathProbed,
    PeersListed,
    ProcessSeen,
    SocketsSeen,
    SpecRead,
)
from holdfast.model.path import Outcome
from holdfast.model.spec import claimed, members, read_spec
from holdfast.model.standing import CUT, is_ready
from holdfast.probes.definitions import definitions_here
from holdfast.probes.environment import environment_of, seen_environment
from holdfast.probes.links import Sockets, sockets_of
from holdfast.probes.net import holder_of, is_here
from holdfast.probes.paths import Place, look_nearby, measure_paths, probe_paths, probe_peers
from holdfast.probes.process import stat_of
from holdfast.probes.versions import loaded_tensorflow, versions_of_process

CONNECT_S, ANSWER_S, PEERS_S, PEERS_AGAIN_S = 2.5, 1.5, 2.0, 5.0
FAR_AGAIN_S = 5.0  # on a bad line two lost packets in a row take seconds, on this host none does
# What a lost packet or a moment of work can make of a look: worth a second one.
DOUBTFUL = frozenset({Outcome.STALLED, Outcome.NOT_GRPC, Outcome.NOT_TENSORFLOW, *CUT})
WORK_S, TRYING_S = 1.5, 3.2  # between two looks at a process: does it work, does it still try
NEARBY_MAX = 8  # tasks that are looked for elsewhere
PLACES_MAX = 2_000
LATENCY_TRIES = 40


class Inquiry:
    """Each look adds facts; `host` is where we look from."""

    def __init__(self, places: Sequence[Place], *, host: str, specs: Iterable[Fact] = ()) -> None:
        self._places = list(places)[:PLACES_MAX]
        self._host = host
        self._began_s = time.monotonic()
        self._specs = list(specs)
        self._attached = AttachedTasks(host, self.at_s)

    def at_s(self) -> float:
        return round(time.monotonic() - self._began_s, 3)

    def _where(self, task: TaskId | None = None) -> dict[str, Any]:
        return {"at_s": self.at_s(), "host": self._host, "task": task}

    def look(self, *, peers: bool | None = None, latency: bool = False) -> list[Fact]:
        """Everything, once: who answers, whom they see, what their processes here have.

        A task that is asked for its peers connects to all of them. While one is missing, it
        goes on trying, and calls of its own to that one fail if it comes at a bad moment: so
        unless somebody wants it, nobody is asked before all are there.
        """
        looks = self.ask(self._places)
        whole = all(is_ready(look) for look in looks) and len(looks) > 1
        with ThreadPoolExecutor() as pool:
            again = pool.submit(self._ask_again, looks)
            measured = pool.submit(self._measure, looks if latency else [])
            here = self._processes_here(looks)
            asked = [look for look in looks if not _looks_elsewhere(look, here, looks)]
            listed = pool.submit(self._peers, asked if peers or (whole and peers is None) else [])
            facts = [*looks, *here, *again.result(), *listed.result(), *measured.result()]
        if whole:
            facts += self._peers_again(listed.result(), looks)
        else:
            facts += self._processes_again(facts)
        return [*facts, *self._lost(facts)]

    def _processes_again(self, facts: Sequence[Fact]) -> list[Fact]:
        """A second look at who works, and at who still tries: the first may be a moment."""
        seen = [fact for fact in facts if isinstance(fact, ProcessSeen)]
        tries = any(isinstance(fact, SocketsSeen) and fact.trying for fact in facts)
        if seen:
            needed_s = TRYING_S if tries else WORK_S
            time.sleep(max(0.0, needed_s - (self.at_s() - seen[0].at_s)))
        again: list[Fact] = []
        for one in seen:
            now, sockets = stat_of(one.pid), sockets_of([one.pid])
            if now is not None:
                cpu_s = round(now.cpu_s, 3)
                again.append(replace(one, at_s=self.at_s(), state=now.state, cpu_s=cpu_s))
                again.append(_sockets_seen(sockets, self._where(one.task)))
        return again

    def look_again(self) -> list[Fact]:
        """What costs the cluster nothing: who answers, and what its processes here have."""
        looks = self.ask(self._places)
        return [*looks, *self._processes_here(looks)]

    def watch(self, facts: Sequence[Fact]) -> list[Fact]:
        """For some seconds: what the tasks that train on this host do, and where they stand."""
        return self._attached.watch(_trainers_here(facts))

    def watch_on(self, facts: Sequence[Fact]) -> list[Fact]:
        """The same since the last look, at little cost."""
        return self._attached.watch_on(_trainers_here(facts))

    def ask(self, places: Sequence[Place], answer_s: float = ANSWER_S) -> list[PathProbed]:
        """Only who they are: cheap enough to be asked again and again."""
        found = probe_paths(
            places, at_s=self.at_s, host=self._host, connect_s=CONNECT_S, answer_s=answer_s
        )
        return [_named(look) for look in found]

    def _ask_again(self, looks: Sequence[PathProbed]) -> list[PathProbed]:
        """Those of whom one look tells too little. On other hosts they get more time to answer."""
        far = [look for look in looks if look.ips and not any(map(is_here, look.ips))]
        near = [look for look in looks if look not in far]
        with ThreadPoolExecutor() as pool:
            again = pool.submit(self.ask, _places_of(far, *DOUBTFUL), FAR_AGAIN_S)
            return [*self.ask(_places_of(near, *DOUBTFUL)), *again.result()]

    def _peers(self, looks: Sequence[PathProbed], deadline_s: float = PEERS_S) -> list[PeersListed]:
        answering = [_at_ip(look) for look in looks if look.outcome == Outcome.ANSWERED]
        return probe_peers(answering, at_s=self.at_s, host=self._host, deadline_s=deadline_s)

    def _peers_again(
        self, listed: Sequence[PeersListed], looks: Sequence[PathProbed]
    ) -> list[Fact]:
        """Those who named nobody get more time: on a bad line one lost packet takes seconds."""
        silent = {fact.task for fact in listed if not fact.answered}
        unanswered = [look for look in looks if look.target in silent]
        if not unanswered:
            return []
        with ThreadPoolExecutor() as pool:
            again = pool.submit(self.ask, _places_of(unanswered, Outcome.ANSWERED))
            return [*self._peers(unanswered, PEERS_AGAIN_S), *again.result()]

    def _measure(self, looks: Sequence[PathProbed]) -> list[Fact]:
        places = _places_of(looks, Outcome.ANSWERED, Outcome.STALLED)
        return list(measure_paths(places, tries=LATENCY_TRIES, at_s=self.at_s, host=self._host))

    def _processes_here(self, looks: Sequence[PathProbed]) -> list[Fact]:
        """What the processes of this cluster on this host have, where we may look into them."""
        wanted = {look.target: look.address for look in looks if look.target}
        ours = {ip for ip in {ip for look in looks for ip in look.ips} if is_here(ip)}
        # Many hosts may use one port: only on this host does it tell whose process that is.
        ports = {_port(look.address): look.target for look in looks if ours & set(look.ips)}
        facts: list[Fact] = []
        for pid, text in definitions_here().items():
            spec = read_spec(text, source=f"pid {pid}", pid=pid, **self._where())
            sockets = sockets_of([pid])
            task = self._whose(spec, wanted)
            owner = task
            if task is None or _port(wanted[task]) not in sockets.listening:
                held = [ports[port] for port in sockets.listening if ports.get(port)]
                owner = held[0] if held else task
            if owner is None:
                continue
            where = self._where(owner)
            state = stat_of(pid)
            if state is None or not (sockets.listening or loaded_tensorflow(pid)):
                continue
            facts += [
                replace(spec, task=owner),
                _sockets_seen(sockets, where),
                ProcessSeen(
                    pid=pid,
                    state=state.state,
                    cpu_s=round(state.cpu_s, 3),
                    loaded_tensorflow=loaded_tensorflow(pid),
                    **where,
                ),
            ]
            facts += [seen for seen in (versions_of_process(pid, where),) if seen]
            if environ := environment_of(pid):
                facts.append(seen_environment(environ, where, pid))
        return facts

    def _whose(self, spec: Fact, wanted: dict[TaskId, str]) -> TaskId | None:
        """The task of this cluster that a process is: most of its addresses must be ours."""
        if not isinstance(spec, SpecRead):
            return None
        known = members(spec)
        shared = sum(wanted.get(task) == address for task, address in known.items())
        task = claimed(spec)
        return task if task in wanted and 2 * shared >= len(wanted) and shared else None

    def _lost(self, facts: Sequence[Fact]) -> list[PathProbed]:
        """Where else the tasks are that nobody finds at their address."""
        refused = [
            Place(look.address, look.target)
            for look in facts
            if isinstance(look, PathProbed) and look.target and look.outcome == Outcome.REFUSED
        ]
        found: list[PathProbed] = []
        here = {
            fact.task: fact.listening
            for fact in facts
            if isinstance(fact, SocketsSeen) and fact.listening
        }
        anybody = any(isinstance(fact, PathProbed) and is_ready(fact) for fact in facts)
        for place in refused[:NEARBY_MAX] if anybody else ():
            ports = here.get(place.target, ())
            host = place.address.rpartition(":")[0]
            elsewhere = [Place(f"{host}:{port}", place.target) for port in ports]
            looks = (
                self.ask(elsewhere)
                if elsewhere
                else look_nearby(place, at_s=self.at_s, host=self._host)
            )
            found += [look for look in looks if is_ready(look)]
        return found


def _trainers_here(facts: Sequence[Fact]) -> dict[TaskId, int]:
    """The process of each task that trains on this host, by its definition or by its port.

    What a process starts has its environment, too: the oldest is meant. A process that serves
    for several tasks tells nothing of each.
    """
    started: dict[TaskId, dict[int, int]] = {}
    for fact in facts:
        if isinstance(fact, ProcessSeen) and fact.task and (stat := stat_of(fact.pid)):
            started.setdefault(fact.task, {})[fact.pid] = stat.started_ticks
    pids = {task: min(found, key=lambda pid: found[pid]) for task, found in started.items()}
    ready = (fact for fact in facts if isinstance(fact, PathProbed) and is_ready(fact))
    for look in ready:
        if look.target and look.target not in pids and any(map(is_here, look.ips)):
            holder = holder_of(_port(look.address))
            if holder is not None and holder.pid:
                pids[look.target] = holder.pid
    shared = Counter(pids.values())
    return {task: pid for task, pid in pids.items() if task.trains and shared[pid] == 1}


def _looks_elsewhere(look: PathProbed, here: Sequence[Fact], looks: Sequence[PathProbed]) -> bool:
    """Whether a task's own definition has another address for a peer: it would look there."""
    at = {one.target: one.address for one in looks if one.target}
    return any(
        at.get(peer, address) != address
        for spec in here
        if isinstance(spec, SpecRead) and spec.task == look.target
        for peer, address in members(spec).items()
    )


def _sockets_seen(sockets: Sockets, where: dict[str, Any]) -> SocketsSeen:
    return SocketsSeen(
        listening=sockets.listening,
        connected=sockets.connected,
        trying=sockets.trying,
        **where,
    )


def _port(address: str) -> int:
    where = parse_address(address)
    return 0 if isinstance(where, Complaint) else where.port


def _at_ip(look: PathProbed) -> Place:
    """By the address that we know it has: gRPC's own resolver knows other names than ours."""
    if not look.ips:
        return Place(look.address, look.target)
    return Place(str(Address(look.ips[0], _port(look.address))), look.target)


def _places_of(looks: Sequence[PathProbed], *outcomes: Outcome) -> list[Place]:
    return [Place(look.address, look.target) for look in looks if look.outcome in outcomes]


def _named(look: PathProbed) -> PathProbed:
    """Where nobody in particular is expected, whoever answers is right."""
    if look.target is not None or not look.name:
        return look
    try:
        return replace(look, target=TaskId.parse(look.name))
    except BadInput:
        return look
