"""Watches tasks that somebody else has started: who works, who does nothing, where they stand.

Nothing of a run of ours is needed: no holder, no log, no habit. So only a few seconds are judged,
and what began before the first look has lasted for at least that long.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.agent.activity_rounds import ActivityRounds
from holdfast.agent.take_stacks import APART_S, stacks_seen, take_round
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.idleness import does_nothing
from holdfast.model.watch_facts import TaskSampled, TaskWaits
from holdfast.probes.process import children_by_parent, offspring, stat_of
from holdfast.probes.rhythm import Rhythm, rhythm_of
from holdfast.probes.stacks import NoPySpy, Sources

WATCH_S = 3.0
WHY = "holdfast attach"


@dataclass(frozen=True, slots=True)
class _Seen:
    """One task's process at the last look."""

    pid: int
    at_s: float
    rhythm: Rhythm
    cpu_s: float  # with what it has started
    first_s: float  # when it was looked at first
    worked_s: float  # when it was last known to do anything; at first: when we began to look


class AttachedTasks:
    """From one look to the next; `at_s` is the clock of the one who asks."""

    def __init__(self, host: str, at_s: Callable[[], float]) -> None:
        self._host = host
        self._at_s = at_s
        self._seen: dict[TaskId, _Seen] = {}
        self._sources = Sources()
        self._waiting: set[TaskId] = set()
        self._stand: list[Fact] = []  # where they stood when somebody began to wait

    def watch(self, pids: Mapping[TaskId, int]) -> list[Fact]:
        """For some seconds, with stacks at both ends."""
        if not pids:
            return []
        self._look(pids)
        self._stand = self._where_they_stand(pids, over_s=WATCH_S)
        return self._told(self._look(pids))

    def watch_on(self, pids: Mapping[TaskId, int]) -> list[Fact]:
        """Since the last look. Stacks are taken again only when somebody begins to wait."""
        told = self._look(pids)
        waiting = {fact.task for fact in told if isinstance(fact, TaskWaits)}
        if waiting - self._waiting:
            self._stand = self._where_they_stand(pids, over_s=APART_S)
        return self._told(told)

    def _told(self, told: list[Fact]) -> list[Fact]:
        self._waiting = {fact.task for fact in told if isinstance(fact, TaskWaits) and fact.task}
        return [*self._stand, *told]

    def _look(self, pids: Mapping[TaskId, int]) -> list[Fact]:
        """What each did since the last look: nothing is known of one that is new."""
        children = children_by_parent()
        facts: list[Fact] = []
        seen: dict[TaskId, _Seen] = {}
        for task, pid in pids.items():
            rhythm, stat = rhythm_of(pid), stat_of(pid)
            if rhythm is None or stat is None:
                continue
            cpu_s = stat.cpu_s + sum(one.cpu_s for one in offspring(pid, children))
            at_s = self._at_s()
            now = _Seen(pid, at_s, rhythm, cpu_s, first_s=at_s, worked_s=at_s)
            before = self._seen.get(task)
            if before is not None and before.pid == pid and at_s > before.at_s:
                now = replace(now, first_s=before.first_s, worked_s=before.worked_s)
                sampled = self._sampled(task, before, now)
                if not does_nothing(
                    cores=sampled.cpu_share,
                    main_cores=sampled.main_cpu_share,
                    wakes=sampled.main_wakes,
                ):
                    now = replace(now, worked_s=at_s)
                facts += [sampled, *self._waits(task, now)]
            seen[task] = now
        self._seen = seen
        return facts

    def _sampled(self, task: TaskId, before: _Seen, now: _Seen) -> TaskSampled:
        over_s = now.at_s - before.at_s
        ran_s = (now.rhythm.run_ns - before.rhythm.run_ns) / 1e9
        return TaskSampled(
            at_s=now.at_s,
            host=self._host,
            task=task,
            pid=now.pid,
            state=now.rhythm.state,
            over_s=round(over_s, 3),
            cpu_share=round(max(0.0, now.cpu_s - before.cpu_s) / over_s, 3),
            main_cpu_share=round(max(0.0, ran_s) / over_s, 3),
            main_wakes=max(0, now.rhythm.wakes - before.rhythm.wakes),
            waits_in=now.rhythm.waits_in,
        )

    def _waits(self, task: TaskId, now: _Seen) -> list[Fact]:
        waits_s = round(now.at_s - now.worked_s, 3)
        if waits_s < WATCH_S:
            return []
        return [
            TaskWaits(
                at_s=now.at_s,
                host=self._host,
                task=task,
                waits_s=waits_s,
                at_least=now.worked_s == now.first_s,
            )
        ]

    def _where_they_stand(self, pids: Mapping[TaskId, int], *, over_s: float) -> list[Fact]:
        """Stacks, and what the kernel says, at both ends of some seconds."""
        began_s = time.monotonic()
        activity = ActivityRounds(pids, self._host)
        activity.sample()
        facts = self._stacks(pids)
        blind = any(isinstance(fact, ProbeBlind) for fact in facts)
        late = time.monotonic() - began_s > over_s
        time.sleep(max(0.0, began_s + over_s - time.monotonic()))
        activity.sample()
        facts += activity.seen(self._at_s())
        return facts if blind or late else [*facts, *self._stacks(pids)]

    def _stacks(self, pids: Mapping[TaskId, int]) -> list[Fact]:
        where: dict[str, Any] = {"at_s": self._at_s(), "host": self._host}
        try:
            taken = take_round(pids, self._sources, dumps=None)
        except NoPySpy as error:
            return [ProbeBlind(probe="stacks", why=f"{error.message} ({error.do})", **where)]
        seen = stacks_seen(taken, pids, why=WHY, **where)
        if seen:
            return list(seen)
        why = next((one.why for one in taken.values() if one.why), "no thread could be read")
        return [ProbeBlind(probe="stacks", why=why, **where)]
