"""Which tasks are stopped, traced, frozen, or stuck on storage for longer than a moment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProcessSeen
from holdfast.probes.held import (
    Ran,
    file_waited_for,
    frozen_cgroup,
    ran,
    stuck_thread,
    tracer_of,
    waits_in,
)

STOPPED_S = 2.3  # people and debuggers stop a process for a moment
STORAGE_S = 3.0
AGAIN_S = 5.0
THREADS_EVERY_S, IDLE_SHARE = 3.0, 0.05
FROZEN = "frozen"
STOPPED = frozenset({"T", "t"})


@dataclass(slots=True)
class _Spell:
    """How the process that trains has been found since `since_s`."""

    pid: int
    kind: str  # T, t, D, frozen; empty: it goes on
    since_s: float
    ran: Ran | None
    thread: int = 0  # that waits for storage, where it is not the main one
    told_s: float = -1.0  # when it was last told; negative: not yet
    frozen: str = ""

    @property
    def worth_s(self) -> float:
        return STORAGE_S if self.kind == "D" else STOPPED_S


class HeldLook:
    """Tells of a process that is held, again while that lasts, and once when it goes on."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._spells: dict[TaskId, _Spell] = {}
        self._threads: dict[TaskId, tuple[float, float, int]] = {}  # when, CPU by then, who waits

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        for task in self._spells.keys() - tasks.keys():
            del self._spells[task]
            self._threads.pop(task, None)
        for task, watched in tasks.items():
            fact = self._look_at(task, watched, at_s)
            if fact is not None:
                yield fact

    @property
    def hurries(self) -> bool:
        """Whether somebody is held, and not for long enough to be told: look again soon."""
        return any(
            spell.kind not in {"", "D"} and spell.told_s < 0 for spell in self._spells.values()
        )

    def is_held(self, task: TaskId) -> bool:
        """Whether a task's process was found held in the last look."""
        return task in self._spells and bool(self._spells[task].kind)

    def _look_at(self, task: TaskId, watched: Watched, at_s: float) -> Fact | None:
        before = self._spells.get(task)
        now_ran = ran(watched.main)
        stood = before is not None and before.pid == watched.main and before.ran == now_ran
        kind, frozen = _kind(watched, stood=stood)
        thread = self._stuck_thread(task, watched, at_s) if stood and not kind else 0
        kind = "D" if thread else kind
        same = before is not None and before.kind == kind and stood
        if before is None or not same:
            spell = _Spell(watched.main, kind, at_s, now_ran, frozen=frozen, thread=thread)
            self._spells[task] = spell
            if before is not None and before.told_s >= 0 and not kind:
                return self._fact(task, watched, spell, at_s)
            if before is not None and before.told_s >= 0:
                spell.told_s = before.told_s  # it is held in another way: its end is worth a fact
            return None
        if not kind or at_s - before.since_s < before.worth_s:
            return None
        if before.told_s >= 0 and at_s - before.told_s < AGAIN_S:
            return None
        before.told_s = at_s
        return self._fact(task, watched, before, at_s)

    def _stuck_thread(self, task: TaskId, watched: Watched, at_s: float) -> int:
        """A server's main thread only waits for the others: one of these may be stuck.

        To look at all of them costs as much as all other looks: now and then, and only while
        the process does nothing.
        """
        looked_s, cpu_s, thread = self._threads.get(task, (at_s - THREADS_EVERY_S, 0.0, 0))
        if at_s - looked_s < THREADS_EVERY_S:
            return thread
        idle = watched.cpu_s - cpu_s < IDLE_SHARE * (at_s - looked_s)
        found = stuck_thread(watched.main) if idle else 0
        self._threads[task] = (at_s, watched.cpu_s, found)
        return found

    def _fact(self, task: TaskId, watched: Watched, spell: _Spell, at_s: float) -> ProcessSeen:
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
        waits = spell.kind in {"D", FROZEN}
        thread = spell.thread or watched.main
        return ProcessSeen(
            pid=watched.main,
            state="D" if spell.thread else watched.state,
            cpu_s=round(watched.cpu_s, 3),
            loaded_tensorflow=watched.trains,
            lasting_s=round(at_s - spell.since_s, 3),
            tracer=tracer_of(watched.main) if spell.kind in STOPPED else "",
            frozen=spell.frozen,
            waits_in=waits_in(thread) if waits else "",
            path=file_waited_for(thread) if spell.kind == "D" else "",
            **where,
        )


def _kind(watched: Watched, *, stood: bool) -> tuple[str, str]:
    """In which way it is held. A frozen process looks like one that waits, and never runs."""
    if watched.state in STOPPED:
        return watched.state, ""
    if watched.state == "D" or (stood and watched.state == "S"):
        frozen = frozen_cgroup(watched.main)
        if frozen:
            return FROZEN, frozen
    return ("D", "") if watched.state == "D" else ("", "")
