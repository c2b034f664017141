"""The tasks of one attempt on this host: started, watched for their end, signalled, swept up."""

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holdfast.agent import aftermath
from holdfast.agent.clock import Clock
from holdfast.agent.idle import IdleWatch
from holdfast.agent.leftovers import end_leftovers
from holdfast.agent.reading import Reading
from holdfast.agent.scan import ScanOrder
from holdfast.agent.spawn import Spawned, adopt_orphans, ending_of, reap, reap_orphans, spawn
from holdfast.agent.start_order import StartOrder
from holdfast.agent.starting import Starting
from holdfast.agent.watch import WatchOrder
from holdfast.agent.watching import Watching
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    Fact,
    KernelKilledForMemory,
    ProbeBlind,
    SignalSent,
    StartBlocked,
    StartWaits,
    TaskExited,
    TaskIdle,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.orders import Order, SendSignal, TellStart, WatchIdle
from holdfast.model.plan import Plan, PlannedTask
from holdfast.probes.kernel import KernelLog
from holdfast.probes.memory import MemoryCgroup, cgroup_at, cgroup_path
from holdfast.probes.process import Children, children_by_parent, descendants

Batch = list[Fact]
FAMILY_EVERY_S, IDLE_EVERY_S = 2.0, 1.0
LOOK_AT_START_S = 120.0  # without a deadline: how long a job may take to become a cluster


@dataclass(slots=True)
class RunningTask:
    planned: PlannedTask
    spawned: Spawned
    streams: dict[str, int]  # for reading
    cgroups: frozenset[str] = frozenset()  # the memory cgroups it has been in
    family: frozenset[int] = frozenset()  # its processes when we last looked
    idle: IdleWatch | None = None

    def output_bytes(self) -> int:
        return sum(os.fstat(fd).st_size for fd in self.streams.values())


class Agent:
    """Looks and obeys. What to do is decided elsewhere."""

    def __init__(
        self, plan: Plan, run_dir: RunDir, clock: Clock, host: str, *, files_max: int
    ) -> None:
        self._plan = plan
        self._files_max = files_max  # that a task may open, as whoever started us had it
        self._run_dir = run_dir
        self._clock = clock
        self._host = host
        self._tasks: dict[TaskId, RunningTask] = {}
        self._kernel = KernelLog()
        self._looked_s = -FAMILY_EVERY_S
        self._cgroups: dict[str, MemoryCgroup] = {}  # as they were when first seen
        adopt_orphans()
        logs = {
            (planned.task, stream): run_dir.create_log(planned.task, 1, stream)
            for planned in plan.tasks
            for stream in ("out", "err")
        }
        self._logs = logs
        self._reading: Reading | None = Reading(
            ScanOrder(
                run_dir=plan.run_dir,
                tasks=[str(planned.task) for planned in plan.tasks],
                zero_s=clock.zero_s,
                host=host,
                keep_bytes=plan.keep_bytes,
            )
        )

        self._starting = self._watch_start() if plan.watch_start else None
        self._watching: Watching | None = Watching(
            WatchOrder(
                run_dir=plan.run_dir,
                addresses={str(one.task): one.address for one in plan.tasks if one.address},
                zero_s=clock.zero_s,
                host=host,
            )
        )

    def _watch_start(self) -> Starting | None:
        """One task alone waits for nobody."""
        addresses = {str(one.task): one.address for one in self._plan.tasks if one.address}
        if len(addresses) <= 1:
            return None
        return Starting(
            StartOrder(
                run_dir=self._plan.run_dir,
                addresses=addresses,
                zero_s=self._clock.zero_s,
                host=self._host,
                deadline_s=self._plan.start_deadline_s or LOOK_AT_START_S,
            )
        )

    def start(self) -> Iterator[Batch]:
        """Start every task; one that cannot be executed is a fact, not an error."""
        if self._kernel.blind:
            why = f"{self._kernel.blind}: an OOM kill without a cgroup limit stays unseen"
            yield [ProbeBlind(probe="kernel log", why=why, **self._where(None))]
        for planned in self._plan.tasks:
            yield [self._start(planned)]

    def _start(self, planned: PlannedTask) -> Fact:
        out_fd, err_fd = (self._logs[(planned.task, stream)] for stream in ("out", "err"))
        env = {**os.environ, **planned.env}
        try:
            spawned = spawn(
                planned.command, env, out_fd=out_fd, err_fd=err_fd, files_max=self._files_max
            )
        except OSError as error:
            return TaskNotStarted(
                command=planned.command[0],
                errno_name=errno.errorcode.get(error.errno or 0, "unknown"),
                **self._where(planned.task),
            )
        finally:
            os.close(out_fd)
            os.close(err_fd)
        streams = {
            stream: self._run_dir.open_log(planned.task, 1, stream) for stream in ("out", "err")
        }
        self._tasks[planned.task] = RunningTask(planned, spawned, streams)
        if self._starting:
            self._starting.started(planned.task, spawned.pid)
        if self._watching:
            self._watching.started(planned.task, spawned.pid)
        return TaskStarted(pid=spawned.pid, address=planned.address, **self._where(planned.task))

    def waitables(self) -> dict[int, Callable[[], Iterator[Batch]]]:
        """What to wait for, and what to do when it is readable."""
        found: dict[int, Callable[[], Iterator[Batch]]] = {
            running.spawned.pidfd: lambda task=task: self._ended(task)  # type: ignore[misc]
            for task, running in self._tasks.items()
        }
        if self._reading:
            found[self._reading.fd] = self._hear
        if self._starting:
            found[self._starting.fd] = self._hear_start
        if self._watching:
            found[self._watching.fd] = self._hear_watch
        return found

    def _hear_start(self) -> Iterator[Batch]:
        facts = self._starting.hear() if self._starting else None
        if facts is None:
            self._end_start_watch()
        else:
            yield facts

    def _hear_watch(self) -> Iterator[Batch]:
        facts = self._watching.hear() if self._watching else None
        if facts is None:
            self._end_watch()
            why = "it ended early: from here on only deaths and lines are seen"
            yield [ProbeBlind(probe="watcher", why=why, **self._where(None))]
        else:
            yield facts

    def _end_watch(self) -> None:
        if self._watching:
            self._watching.close()
            self._watching = None

    def _end_start_watch(self) -> None:
        if self._starting:
            self._starting.close()
            self._starting = None

    def _hear(self) -> Iterator[Batch]:
        facts = self._reading.hear() if self._reading else None
        if facts is None:
            self._reading = None
            why = "it ended early: telling lines are missing, the logs are whole"
            yield [ProbeBlind(probe="output reader", why=why, **self._where(None))]
        else:
            yield facts

    def _ended(self, task: TaskId) -> Iterator[Batch]:
        """First the fact itself, at once; then what explains it."""
        running = self._tasks[task]
        ending = ending_of(running.spawned)
        if ending is None:
            return
        exited = TaskExited(
            exit_code=ending.exit_code,
            signal=ending.signal,
            core_dumped=ending.core_dumped,
            core_pattern=aftermath.core_pattern(dumped=ending.core_dumped),
            **self._where(task),
        )
        yield [exited]
        where = self._where(task)
        if exited.exit_code != 0:
            yield [*self._oom_kills(), *self._cgroup_kills(where, running.cgroups)]
            yield [
                *aftermath.limits(where, running.spawned.pid),
                *aftermath.rooms(where, self._run_dir.path),
            ]
            pids = {other.spawned.pid: name for name, other in self._tasks.items()}
            yield list(aftermath.port_holder(where, running.planned.address, pids))
            yield list(aftermath.words_left(where, running.streams))
        reap(running.spawned)
        for fd in running.streams.values():
            os.close(fd)
        del self._tasks[task]
        if self._starting:
            self._starting.ended(task)
        if self._watching:
            self._watching.ended(task)
        if self._reading:
            self._reading.read_tail(task)

    def _cgroup_kills(self, where: aftermath.Where, paths: frozenset[str]) -> Batch:
        """Each kill is told of one task only: the next to die in that cgroup starts afresh."""
        facts: Batch = []
        for path in sorted(paths):
            before, now = self._cgroups[path], cgroup_at(path)
            if now is not None:
                facts += aftermath.memory_kills(where, before, now)
                self._cgroups[path] = now
        return facts

    def look(self) -> Iterator[Batch]:
        """What is not told by a file descriptor: memory cgroups, idle tasks, orphans."""
        at_s = self._clock.at_s()
        watching = any(running.idle for running in self._tasks.values())
        if at_s - self._looked_s < (IDLE_EVERY_S if watching else FAMILY_EVERY_S):
            return
        self._looked_s = at_s
        children = children_by_parent()
        for task, running in tuple(self._tasks.items()):
            # A word after each task, if only an empty one: deaths come first.
            yield self._look_at(task, running, children)
        yield self._oom_kills()
        reap_orphans(frozenset(running.spawned.pid for running in self._tasks.values()))

    def _look_at(self, task: TaskId, running: RunningTask, children: Children) -> Batch:
        """Its processes, whether it idles, and its memory cgroup: a wrapper may move it."""
        pid = running.spawned.pid
        below = descendants(pid, children)
        running.family = frozenset({pid, *(process.pid for process in below)})
        path = cgroup_path(pid)
        if path is not None and path not in running.cgroups and (now := cgroup_at(path)):
            # A dying process is already out of its cgroup: where it has been counts, too.
            running.cgroups |= {path}
            self._cgroups.setdefault(path, now)
        idle_s = running.idle.look(self._clock.at_s(), children) if running.idle else None
        if idle_s is None:
            return []
        return [TaskIdle(idle_s=round(idle_s, 3), **self._where(task))]

    def _oom_kills(self) -> Batch:
        return [
            KernelKilledForMemory(
                pid=kill.pid,
                process=kill.process,
                rss_bytes=kill.rss_bytes,
                cgroup=kill.cgroup,
                **self._where(self._task_of(kill.pid)),
            )
            for kill in self._kernel.oom_kills()
        ]

    def _task_of(self, pid: int) -> TaskId | None:
        for task, running in self._tasks.items():
            if pid == running.spawned.pid or pid in running.family:
                return task
        return None

    def obey(self, order: Order) -> Iterator[Batch]:
        match order:
            case SendSignal(task=task) if task in self._tasks:
                pidfd = self._tasks[task].spawned.pidfd
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, order.signal)
                    where = self._where(task)
                    yield [SignalSent(signal=order.signal, why=order.why, **where)]
            case WatchIdle(task=task) if task in self._tasks:
                running = self._tasks[task]
                running.idle = IdleWatch(
                    running.spawned.pid,
                    running.output_bytes,
                    timers_count=task.role != "evaluator",
                    idle_s=order.idle_s,
                )
            case TellStart():
                yield [self._start_fact(order)]
            case _:
                return

    def _start_fact(self, told: TellStart) -> Fact:
        missing, waiting = tuple(map(str, told.missing)), tuple(map(str, told.waiting))
        where = self._where(None)
        if told.over_s is None:
            return StartWaits(missing=missing, waiting=waiting, says=told.says, **where)
        return StartBlocked(deadline_s=told.over_s, missing=missing, waiting=waiting, **where)

    def close(self, grace_s: float) -> Iterator[Batch]:
        """The attempt is over: nothing of it stays, and its output is read to the end."""
        self._end_start_watch()
        self._end_watch()
        spare = frozenset({self._reading.pid} if self._reading else ())
        yield from end_leftovers(
            spare=spare, grace_s=grace_s, at_s=self._clock.at_s(), host=self._host
        )
        if self._reading:
            yield from self._reading.finish(self._clock.at_s())
        self._kernel.close()

    def _where(self, task: TaskId | None) -> aftermath.Where:
        return {"at_s": self._clock.at_s(), "host": self._host, "task": task}
