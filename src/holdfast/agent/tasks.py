"""The tasks of one attempt on this host: started, watched for their end, signalled, swept up."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial

from holdfast.agent import aftermath
from holdfast.agent.clock import Clock
from holdfast.agent.dead_children import dead_children
from holdfast.agent.holding import Holding, Record, is_there
from holdfast.agent.idle import IdleWatch
from holdfast.agent.in_task_env import IN_TASK
from holdfast.agent.left_behind import left_after
from holdfast.agent.leftovers import below, end_leftovers, marked, of_session
from holdfast.agent.memory_kills import MemoryKills
from holdfast.agent.past import Past
from holdfast.agent.reading import Reading
from holdfast.agent.running_task import RunningTask
from holdfast.agent.scan_order import ScanOrder
from holdfast.agent.start_order import StartOrder
from holdfast.agent.starting import Starting, start_fact
from holdfast.agent.watch_order import WatchOrder
from holdfast.agent.watching import Watching
from holdfast.logdir.run_dir import STREAMS, RunDir, log_name
from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    Fact,
    ProbeBlind,
    SignalSent,
    TaskExited,
    TaskIdle,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.orders import (
    Order,
    SaveStacks,
    SendSignal,
    StartAgain,
    TellStart,
    WatchIdle,
)
from holdfast.model.plan import Plan
from holdfast.probes.process import Children, children_by_parent, descendants

Batch = list[Fact]
# A pass over all of /proc: often while wrappers start the real programs, then rarely.
FAMILY_EVERY_S, FAMILY_EVERY_LATE_S, LATE_S, IDLE_EVERY_S = 2.0, 10.0, 60.0, 1.0
LOOK_AT_START_S = 120.0  # without a deadline: how long a job may take to become a cluster


class Agent:
    """Looks and obeys. What to do is decided elsewhere."""

    def __init__(
        self,
        plan: Plan,
        run_dir: RunDir,
        clock: Clock,
        host: str,
        *,
        holding: Holding,
        past: Past,
    ) -> None:
        self._plan = plan
        self._holding = holding
        self._past = past
        self._run_dir = run_dir
        self._clock = clock
        self._host = host
        self._tasks: dict[TaskId, RunningTask] = {}
        self._sessions: dict[TaskId, int] = {}  # of those that have ended
        self._kills = MemoryKills()
        self._looked_s = -FAMILY_EVERY_S
        self._planned = {planned.task: planned for planned in plan.tasks}
        for folder in ("stacks", IN_TASK):  # tasks open their own files in it
            run_dir.make_folder(folder)
        there = set(run_dir.logs())
        for task in self._planned:
            for stream in STREAMS:
                if (task, plan.attempt, stream) not in there:
                    os.close(run_dir.create_log(task, plan.attempt, stream))
        self._reading: Reading | None = Reading(
            ScanOrder(
                run_dir=plan.run_dir,
                tasks=[str(planned.task) for planned in plan.tasks],
                zero_s=clock.zero_s,
                host=host,
                keep_bytes=plan.keep_bytes,
                attempt=plan.attempt,
                released=past.released,
            )
        )
        self._starting = self._watch_start() if plan.watch_start else None
        self._watching: Watching | None = Watching(
            WatchOrder(
                run_dir=plan.run_dir,
                addresses={str(one.task): one.address for one in plan.tasks if one.address},
                zero_s=clock.zero_s,
                host=host,
                attempt=plan.attempt,
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
                attempt=self._plan.attempt,
            )
        )

    def start(self) -> Iterator[Batch]:
        """Start every task that nobody has started; one that cannot be executed is a fact."""
        if self._kills.blind and "kernel log" not in self._past.blind:
            why = f"{self._kills.blind}: an OOM kill without a cgroup limit stays unseen"
            yield [ProbeBlind(probe="kernel log", why=why, **self._where(None))]
        yield [fact for record in self._holding.past() for fact in self._note(record)]
        if self._holding.lost:
            yield [self._holder_lost()]
        for task in tuple(self._tasks):
            # Those of whom nothing is left; for the others, their end is readable.
            if self._tasks[task].pidfd < 0:
                yield from self._ended(task)
        for task in self._planned:
            if task not in self._tasks and task not in self._past.begun:
                yield self._start(task)

    def _start(self, task: TaskId) -> Batch:
        """A task that is started again writes on in the same files: no line of it is lost."""
        names = {stream: log_name(task, self._plan.attempt, stream) for stream in STREAMS}
        number = self._past.begun[task] + 1
        command, env = self._plan.of_attempt(self._planned[task])
        heard = self._holding.start(
            str(task), out=names["out"], err=names["err"], command=command, env=env, number=number
        )
        facts = [fact for record in heard for fact in self._note(record)]
        if self._past.begun[task] < number:  # the holder is gone
            facts += self._note(Record(kind="refused", task=str(task), number=number))
        return facts

    def _note(self, record: Record) -> Iterator[Fact]:
        """What the holder says becomes a fact, unless the journal has it; ends are told later."""
        if not record.task:
            return
        task = TaskId.parse(record.task)
        known = record.number <= self._past.begun[task]
        if not known:
            self._past.begun[task] = record.number
            self._past.explained.discard(task)
        where = {**self._where(task), **({"at_s": self._at_s(record)} if record.at else {})}
        if record.kind == "refused" and not known:
            command = self._planned[task].command[0]
            yield TaskNotStarted(command=command, errno_name=record.errno, **where)
        elif record.kind == "started":
            self._hold(task, record)
            if not known:
                address = self._planned[task].address
                yield TaskStarted(pid=record.pid, address=address, **where)
        elif record.kind == "exited" and task in self._tasks:
            self._tasks[task].ending = record

    def _hold(self, task: TaskId, started: Record) -> None:
        """It stays until we let it go, unless who was here before us did, or the holder is gone."""
        pidfd = -1
        with contextlib.suppress(ProcessLookupError):
            if is_there(started, self._holding.about):
                pidfd = os.pidfd_open(started.pid)
        opened = partial(self._run_dir.open_log, task, self._plan.attempt)
        streams = {stream: opened(stream) for stream in STREAMS}
        self._tasks[task] = RunningTask(
            self._planned[task], started.pid, pidfd, streams, started.number
        )
        for child in (self._starting, self._watching):
            if child:
                child.started(task, started.pid)

    def _at_s(self, record: Record) -> float:
        return round(record.at - self._clock.zero_s, 6)

    def waitables(self) -> dict[int, Callable[[], Iterator[Batch]]]:
        """What to wait for, and what to do when it is readable."""
        found: dict[int, Callable[[], Iterator[Batch]]] = {
            running.pidfd: partial(self._ended, task)
            for task, running in self._tasks.items()
            if running.pidfd >= 0 and (running.ending or self._holding.lost)
        }
        if self._holding.fd is not None:
            found[self._holding.fd] = self._hear_holder
        if self._reading:
            found[self._reading.fd] = self._hear
        if self._starting:
            found[self._starting.fd] = self._hear_start
        if self._watching:
            found[self._watching.fd] = self._hear_watch
        return found

    def _hear_holder(self) -> Iterator[Batch]:
        """Who ended is told by itself, one after the other: see `waitables`."""
        facts = [fact for record in self._holding.hear() for fact in self._note(record)]
        if self._holding.lost:
            yield [*facts, self._holder_lost()]

    def _holder_lost(self) -> Fact:
        why = "it is gone: from here on nobody learns how a task ends, only that it does"
        return ProbeBlind(probe="holder", why=why, **self._where(None))

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
            self._watching.kill()
            self._watching = None

    def _end_start_watch(self) -> None:
        if self._starting:
            self._starting.kill()
            self._starting = None

    def _hear(self) -> Iterator[Batch]:
        facts = self._reading.hear() if self._reading else None
        if facts is None:
            self._reading = None
            why = "it ended early: telling lines are missing, the logs are whole"
            yield [ProbeBlind(probe="output reader", why=why, **self._where(None))]
        else:
            yield [fact for fact in facts if self._past.is_new(fact)]

    def _ended(self, task: TaskId) -> Iterator[Batch]:
        """First the fact itself, at once; then what explains it."""
        running = self._tasks[task]
        ending = running.ending or Record(kind="exited")  # nobody saw how
        where = self._where(task)
        if self._past.exited[task] < running.number:
            self._past.exited[task] = running.number
            seen = {**where, "at_s": self._at_s(ending)} if ending.at else where
            yield [
                TaskExited(
                    exit_code=ending.code,
                    signal=ending.signal,
                    core_dumped=ending.core,
                    core_pattern=aftermath.core_pattern(dumped=ending.core),
                    **seen,
                )
            ]
        yield self._oom_kills()
        if ending.code != 0 and task not in self._past.explained:
            yield list(self._kills.in_cgroups(where, running.cgroups))
            yield list(aftermath.limits(where, running.pid))
            yield list(aftermath.rooms(where, self._run_dir.path))
            pids = {other.pid: name for name, other in self._tasks.items()}
            yield list(aftermath.port_holder(where, running.planned.address, pids))
            yield list(aftermath.words_left(where, running.streams))
        if task not in self._past.explained:  # of one that ended well, its children
            yield left_after(where, running.planned, self._run_dir, self._clock, self._past)
        self._holding.let_go(str(task))
        for fd in (*running.streams.values(), *([running.pidfd] if running.pidfd >= 0 else ())):
            os.close(fd)
        self._sessions[task] = running.pid
        del self._tasks[task]
        for child in (self._starting, self._watching):
            if child:
                child.ended(task)
        if self._reading:
            self._reading.ended(task)

    def look(self) -> Iterator[Batch]:
        """What is not told by a file descriptor: memory cgroups, idle tasks."""
        at_s = self._clock.at_s()
        watching = any(running.idle for running in self._tasks.values())
        every_s = FAMILY_EVERY_S if at_s < LATE_S else FAMILY_EVERY_LATE_S
        if at_s - self._looked_s < (IDLE_EVERY_S if watching else every_s):
            return
        self._looked_s = at_s
        children = children_by_parent()
        yield self._oom_kills()  # first: whoever was killed is in no family any more
        for task, running in tuple(self._tasks.items()):
            # A word after each task, if only an empty one: deaths come first, and meanwhile.
            yield self._look_at(task, running, children) if task in self._tasks else []

    def _look_at(self, task: TaskId, running: RunningTask, children: Children) -> Batch:
        """Its processes, those that crashed, whether it idles, and its memory cgroup."""
        pid = running.pid
        family = descendants(pid, children)
        running.family = frozenset({pid, *(process.pid for process in family)})
        self._kills.look_at(running)
        found: Batch = list(dead_children(self._where(task), running, children))
        idle_s = running.idle.look(self._clock.at_s(), children) if running.idle else None
        if idle_s is not None:
            found.append(TaskIdle(idle_s=round(idle_s, 3), **self._where(task)))
        return found

    def _oom_kills(self) -> Batch:
        return list(self._kills.in_kernel_log(lambda pid: self._where(self._task_of(pid))))

    def _task_of(self, pid: int) -> TaskId | None:
        for task, running in self._tasks.items():
            if pid == running.pid or pid in running.family:
                return task
        return None

    def obey(self, order: Order) -> Iterator[Batch]:
        match order:
            case SendSignal(task=task) if task in self._tasks and self._tasks[task].pidfd >= 0:
                pidfd = self._tasks[task].pidfd
                with contextlib.suppress(ProcessLookupError):
                    # Stamped first: the holder sees at once who dies of it, and when.
                    where = self._where(task)
                    signal.pidfd_send_signal(pidfd, order.signal)
                    yield [SignalSent(signal=order.signal, why=order.why, **where)]
            case WatchIdle(task=task) if task in self._tasks:
                running = self._tasks[task]
                running.idle = IdleWatch(
                    running.pid,
                    running.output_bytes,
                    timers_count=task.role != "evaluator",
                    idle_s=order.idle_s,
                )
            case TellStart():
                yield [start_fact(order, self._where(None))]
            case StartAgain(task=task) if task not in self._tasks:
                yield from self._end_rest(task)
                yield self._start(task)
            case SaveStacks():
                if self._watching:
                    self._watching.save_stacks(order.tasks, order.why)
            case _:
                return

    def _end_rest(self, task: TaskId) -> Iterator[Batch]:
        """What its last process left behind would keep its port and its files."""
        if self._holding.pid is not None and task in self._sessions:
            left = partial(of_session, self._holding.pid, self._sessions[task])
            yield from end_leftovers(left, grace_s=0.0, at_s=self._clock.at_s(), host=self._host)

    def close(self, grace_s: float) -> Iterator[Batch]:
        """The attempt is over: nothing of it stays, and its output is read to the end.

        The holder stays: it has the plan, and with it the next attempt can be started.
        """
        self._end_start_watch()
        yield from self._watching.finish() if self._watching else ()
        self._end_watch()
        holder = self._holding.pid
        left = partial(below, holder) if holder else partial(marked, self._plan.run_id)
        yield from end_leftovers(left, grace_s=grace_s, at_s=self._clock.at_s(), host=self._host)
        if self._reading:
            for facts in self._reading.finish(self._clock.at_s()):
                yield [fact for fact in facts if self._past.is_new(fact)]
        self._kills.close()

    def _where(self, task: TaskId | None) -> aftermath.Where:
        return {"at_s": self._clock.at_s(), "host": self._host, "task": task}
