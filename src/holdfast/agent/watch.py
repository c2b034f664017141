"""The process that watches the tasks of this host while they train, about once a second.

It reads /proc and the ends of files, and waits for nobody. What it sees goes up as facts; it
judges no more than whether something is worth telling. Its death costs us looks, nothing else.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from holdfast.agent.clock import Clock
from holdfast.agent.serve import serve, tell
from holdfast.agent.watch_host import HostLook
from holdfast.agent.watch_links import LinkLook
from holdfast.agent.watch_logged import LoggedLook
from holdfast.agent.watch_order import WatchOrder
from holdfast.agent.watch_paths import PathLook
from holdfast.agent.watch_progress import ProgressLook
from holdfast.agent.watch_stacks import ROUNDS, StackLook
from holdfast.agent.watch_told import ToldLook
from holdfast.agent.watch_writers import WritersLook
from holdfast.agent.watched import Look, Watched
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind, ProcessSeen
from holdfast.model.watch_facts import ObserverLate
from holdfast.model.words import listed
from holdfast.probes.process import children_by_parent, descendants, stat_of
from holdfast.probes.trainer import training_process

EVERY_S, EVERY_S_MAX = 1.0, 5.0
EVERY_S_MIN = 0.4  # while something is about to be known: stacks, a stop, a cut
HURRY_LOOKS_MAX = 40  # of these; each usual look gives one back
REST_FOR_WORK = 200  # never much more than 0.5 % of a core, however many tasks there are
FRESH = 0.2  # how much the last round counts in what rounds cost
FAMILY_EVERY_S = 10.0  # a whole pass over /proc; in between only those that are known
TRAINER_EVERY_S, TRAINER_SEARCH_S = 2.0, 300.0  # until a task has loaded what it trains with
LATE_S = 1.0  # a look that comes this much after its time saw nothing meanwhile
FACTS_A_ROUND_MAX, UNTOLD_MAX = 200, 5_000  # of many tasks, the rest comes with the next round
ROUNDS_OF_SLOW = 3
STACKS_MAX = 64  # tasks of this host whose stacks are taken at once

Ear = TypeVar("Ear")


class Watcher:
    def __init__(self, order: WatchOrder) -> None:
        self._order = order
        self._clock = Clock(order.zero_s)
        self._run_dir = open_run_dir(Path(order.run_dir))
        self._tasks: dict[TaskId, Watched] = {}
        addresses = {TaskId.parse(name): where for name, where in order.addresses.items()}
        self._progress = ProgressLook(order.host)
        self._stacks = StackLook(run_dir=order.run_dir, zero_s=order.zero_s, host=order.host)
        self._links = LinkLook(order.host, addresses)
        self._host = HostLook(host=order.host, folders=[(order.run_dir, "logs")])
        self._logged = LoggedLook(order.host)
        self._untold: list[Fact] = []
        self._told = self._if_possible("told", partial(ToldLook, self._run_dir.fd, order.host))
        opened = partial(WritersLook, order.host, but=order.run_dir)
        self._writers = self._if_possible("writers", opened)
        self._looks: list[Look] = [
            self._host,
            self._links,
            PathLook(order.host, addresses),
            *self._told,  # before who counts the steps
            self._progress,
            self._stacks,
            self._logged,
            *self._writers,
        ]
        self._hurry = HURRY_LOOKS_MAX
        self._trained: dict[TaskId, int] = {}  # by which process
        self._blind: set[str] = set()  # looks that have failed, and were told
        self._family_s = self._trainer_s = -FAMILY_EVERY_S
        self._due_s = self._clock.at_s()  # when the next look should come
        self._cpu_s = time.process_time()  # when the last round began
        self._round_s = 0.0  # of a core: what a round costs, of late

    def _if_possible(self, name: str, opened: Callable[[], Ear]) -> list[Ear]:
        """One, or none where the kernel has no socket or watch to give: the other looks go on."""
        try:
            return [opened()]
        except OSError as error:
            why = f"nobody can tell us anything: {type(error).__name__}: {error}"[:300]
            at_s, host = self._clock.at_s(), self._order.host
            self._untold.append(ProbeBlind(at_s=at_s, host=host, probe=name, why=why))
            return []

    def ears(self) -> dict[int, Callable[[], None]]:
        """What is read as soon as it comes."""
        return {
            **{told.fd: partial(self._hear_told, told) for told in self._told},
            **{writers.fd: partial(self._hear_writers, writers) for writers in self._writers},
        }

    def _hear_told(self, told: ToldLook) -> None:
        told.hear(self._tasks, self._clock.at_s())

    def _hear_writers(self, writers: WritersLook) -> None:
        self._untold += writers.hear(self._tasks, self._clock.at_s())

    def hear(self, words: str) -> bool:
        """Who has started or ended, whose stacks are wanted, that it is over."""
        what, _, rest = words.partition(" ")
        name, _, pid = rest.partition(" ")
        if what == "stacks":
            at_s = self._clock.at_s()
            self._stacks.want(map(TaskId.parse, name.split(",")), pid, at_s, now=True)
            self.look()
            return True
        if what == "finish":
            tell(self._untold)
            return False
        task = TaskId.parse(name)
        if what == "started":
            opened = partial(self._run_dir.open_log, task, self._order.attempt)
            streams = {stream: opened(stream) for stream in ("out", "err")}
            self._tasks[task] = Watched(
                task=task,
                pid=int(pid),
                address=self._order.addresses.get(name, ""),
                streams=streams,
                pids=(int(pid),),
                main=int(pid),
            )
            self._family_s = self._trainer_s = -FAMILY_EVERY_S
            self._trained.pop(task, None)  # of a task that we started again, we know it
            for writers in self._writers:
                writers.begin(task, self._tasks[task], self._clock.at_s())
        elif what == "ended":
            self._ended(task)
        return True

    def _ended(self, task: TaskId) -> None:
        """Its last step may have come after the last look."""
        for told in self._told:
            self._hear_told(told)
        if watched := self._tasks.pop(task, None):
            self._untold += self._progress.last_step(task, watched, self._clock.at_s())
            self._untold += self._logged.last_words(task, self._clock.at_s())

    def look(self) -> bool:
        """One round. Always True: the watcher ends when nobody listens."""
        self._cpu_s = time.process_time()
        at_s = self._clock.at_s()
        facts = self._if_late(at_s - self._due_s)
        self._refresh(at_s)
        facts += self._replaced(at_s)
        for look in self._looks:
            facts += self._safely(look, at_s)
        self._suspect(at_s)
        facts += self._if_late(self._clock.at_s() - at_s)  # stopped in the middle of a round
        self._due_s = self._clock.at_s() + self._rest_s()
        self._untold = (self._untold + facts)[:UNTOLD_MAX]
        tell(self._untold[:FACTS_A_ROUND_MAX])
        del self._untold[:FACTS_A_ROUND_MAX]
        return True

    def _replaced(self, at_s: float) -> Iterator[Fact]:
        """A task whose program was started again by what is around it: its state is lost."""
        for task, watched in self._tasks.items():
            before = self._trained.get(task)
            if watched.trains and before != watched.main:
                self._trained[task] = watched.main
                if before is not None:
                    yield ProcessSeen(
                        at_s=at_s,
                        host=self._order.host,
                        task=task,
                        pid=watched.main,
                        state=watched.state,
                        cpu_s=round(watched.cpu_s, 3),
                        loaded_tensorflow=True,
                        replaces=before,
                    )

    def _if_late(self, late_s: float) -> list[Fact]:
        if late_s <= LATE_S:
            return []
        at_s = self._clock.at_s()
        return [ObserverLate(at_s=at_s, host=self._order.host, late_s=round(late_s, 3))]

    def _suspect(self, at_s: float) -> None:
        """Where somebody stands still, what everybody is doing tells who keeps whom waiting."""
        still, slowed = self._progress.suspects(), self._progress.slowed()
        if suspects := still or slowed:
            others = [task for task in self._tasks if task not in suspects]
            wanted = [*sorted(suspects), *others][:STACKS_MAX]
            what = "stood still" if still else "became slow"
            # Who is stuck is where it was; of who is slow, only many looks tell why.
            rounds = ROUNDS if still else ROUNDS_OF_SLOW
            why = f"{listed(sorted(suspects))} {what}"
            self._stacks.want(wanted, why, at_s, suspects=suspects, rounds=rounds)

    def pause_s(self) -> float:
        """Until the next look is due."""
        return max(0.0, self._due_s - self._clock.at_s())

    def _rest_s(self) -> float:
        """The more rounds cost, the longer the pauses; one dear round must not make us blind."""
        if self._hurries():
            return EVERY_S_MIN
        used_s = time.process_time() - self._cpu_s
        self._round_s += FRESH * (used_s - self._round_s)
        return min(max(EVERY_S, REST_FOR_WORK * self._round_s), EVERY_S_MAX)

    def _hurries(self) -> bool:
        """Whether something is just about to be known; not for ever, for looks cost."""
        wanted = self._stacks.is_busy or self._host.hurries or self._links.hurries
        hurries = wanted and self._hurry > 0
        self._hurry = min(HURRY_LOOKS_MAX, self._hurry - 1 if hurries else self._hurry + 1)
        return hurries

    def _safely(self, look: Look, at_s: float) -> Iterator[Fact]:
        """A look that crashes hides no other, and is told once."""
        name = type(look).__name__
        try:
            yield from look.look(self._tasks, at_s)
        except Exception as error:  # noqa: BLE001 - strangers' processes, files and sockets
            if name not in self._blind:
                self._blind.add(name)
                why = f"{type(error).__name__}: {error}"[:300]
                yield ProbeBlind(at_s=at_s, host=self._order.host, probe=name, why=why)

    def _refresh(self, at_s: float) -> None:
        """Who belongs to each task now, and what its main process is doing."""
        if at_s - self._family_s >= FAMILY_EVERY_S:
            self._family_s = at_s
            children = children_by_parent()
            for watched in self._tasks.values():
                below = descendants(watched.pid, children)
                watched.pids = (watched.pid, *(process.pid for process in below))
        every_s = TRAINER_EVERY_S if at_s < TRAINER_SEARCH_S else FAMILY_EVERY_S
        search = at_s - self._trainer_s >= every_s
        self._trainer_s = at_s if search else self._trainer_s
        alive = [refresh_one(watched, search=search) for watched in self._tasks.values()]
        if not all(alive):
            self._family_s = self._trainer_s = -FAMILY_EVERY_S  # who has taken its place?


def refresh_one(watched: Watched, *, search: bool) -> bool:
    """Whether the process that we took for its main one still lives."""
    watched.files.clear()
    stats = [stat for pid in watched.pids if (stat := stat_of(pid))]
    # What a child had used before it was found is no work of now.
    fresh = not watched.cpu_of
    for stat in stats:
        before_s = watched.cpu_of.get(stat.pid, 0.0 if fresh else stat.cpu_s)
        watched.cpu_s += max(0.0, stat.cpu_s - before_s)
    watched.cpu_of = {stat.pid: stat.cpu_s for stat in stats}
    alive = {stat.pid: stat for stat in stats}
    if watched.main not in alive:
        watched.main, watched.trains = watched.pids[-1], False
    if search and not watched.trains:
        watched.main, watched.trains = training_process(tuple(alive) or watched.pids)
    main = alive.get(watched.main)
    watched.state = main.state if main else ""
    return main is not None


def main() -> None:
    watcher = Watcher(msgspec.json.decode(sys.argv[1], type=WatchOrder))
    with contextlib.suppress(BrokenPipeError):
        serve(watcher.hear, watcher.look, watcher.pause_s, ears=watcher.ears())


if __name__ == "__main__":
    main()
