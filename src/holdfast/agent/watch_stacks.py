"""Takes the stacks of tasks that somebody wants to know about, without waiting for them."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from holdfast.agent.child import Child
from holdfast.agent.stacks_order import StacksOrder
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.stacks import main_thread
from holdfast.model.watch_facts import StacksSeen

AGAIN_S_MIN, AGAIN_S_MAX = 10.0, 600.0  # the pause doubles while nothing changes
TASK_AGAIN_S = 2.0
SPELL_GAP_S = 3.0  # nobody wanted anything for so long: what is wanted now is another matter,
SPELL_S_MAX = 60.0  # and looked at soon, but less and less soon where that happens all the time
CALM_S = 300.0
WANTED_S_MAX = 15.0  # what was wanted longer ago than that is not wanted any more
TASKS_MAX = 64  # of one request
ROUNDS = 2

Seen = Mapping[TaskId, tuple[int, tuple[str, ...]]]  # its process, and its main thread's frames


class StackLook:
    """One request at a time: two or three rounds over all of its tasks, by a child process."""

    def __init__(self, *, run_dir: str, zero_s: float, host: str, attempt: int = 1) -> None:
        self._run_dir = run_dir
        self._zero_s = zero_s
        self._host = host
        self._attempt = attempt
        self._wanted: tuple[frozenset[TaskId], str, float] | None = None
        self._child: Child | None = None
        self._asked: frozenset[TaskId] = frozenset()  # of the last request
        self._suspects: frozenset[TaskId] = frozenset()  # over whom somebody last wanted it
        self._ended_s = 0.0
        self._again_s = AGAIN_S_MIN
        self._wanted_s = -SPELL_GAP_S  # when anybody last wanted anything
        self._spell_s = TASK_AGAIN_S
        self._started_s = -CALM_S
        self._is_new = True
        self._seen: dict[TaskId, tuple[int, tuple[str, ...]]] = {}  # by the request that runs
        self._seen_before: Seen = {}
        self._rounds = ROUNDS
        self._blind = ""  # the last reason why nobody could look

    @property
    def is_busy(self) -> bool:
        return self._child is not None

    def want(
        self,
        tasks: Iterable[TaskId],
        why: str,
        at_s: float,
        *,
        suspects: Collection[TaskId] = (),
        now: bool = False,
        rounds: int = ROUNDS,
    ) -> None:
        """Ask for their stacks: they come with later looks, or not at all. Ask again freely.

        A new one among the suspects is another matter. With `now` it does not matter how lately
        somebody has looked.
        """
        wanted = frozenset(tasks)
        if wanted:
            self._wanted = (wanted, why, at_s)
            joined = not self._suspects.issuperset(suspects)
            self._suspects = frozenset(suspects)
            self._is_new = self._is_new or joined or at_s - self._wanted_s >= SPELL_GAP_S
            self._wanted_s = at_s
            self._rounds = rounds
        if now:
            self._asked = frozenset()

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        """What the child has told; and a new child, when one is wanted and due."""
        if self._child is not None:
            yield from self._hear(self._child, at_s)
        if self._child is None and self._wanted is not None:
            wanted, why, asked_s = self._wanted
            if at_s - asked_s > WANTED_S_MAX:
                self._wanted = None
            elif self._is_due(wanted, at_s):
                self._wanted = None
                self._note_start(at_s)
                self._start(wanted, why, tasks)

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _is_due(self, wanted: frozenset[TaskId], at_s: float) -> bool:
        """At once for somebody new, soon for a new spell of trouble; else after the pause."""
        if not self._asked:
            return True
        pause_s = self._again_s if wanted <= self._asked else TASK_AGAIN_S
        return at_s - self._ended_s >= min(pause_s, self._spell_s if self._is_new else pause_s)

    def _note_start(self, at_s: float) -> None:
        if at_s - self._started_s >= CALM_S:
            self._spell_s = TASK_AGAIN_S
        elif self._is_new:
            self._spell_s = min(2 * self._spell_s, SPELL_S_MAX)
        self._is_new = False
        self._started_s = at_s

    def _start(self, wanted: frozenset[TaskId], why: str, tasks: Mapping[TaskId, Watched]) -> None:
        pids = {
            str(task): tasks[task].main or tasks[task].pid
            for task in sorted(wanted & tasks.keys())[:TASKS_MAX]
        }
        if not pids:
            return
        self._asked = wanted
        self._seen = {}
        order = StacksOrder(
            run_dir=self._run_dir,
            pids=pids,
            zero_s=self._zero_s,
            host=self._host,
            why=why,
            rounds=self._rounds,
            attempt=self._attempt,
        )
        self._child = Child("holdfast.agent.take_stacks", order, probe="stacks", host=self._host)

    def _hear(self, child: Child, at_s: float) -> Iterator[Fact]:
        facts = child.hear()
        if facts is None:
            child.wait()
            self._child = None
            self._ended_s = at_s
            same = self._seen == self._seen_before  # also when nobody could look, twice
            self._again_s = min(2 * self._again_s, AGAIN_S_MAX) if same else AGAIN_S_MIN
            self._seen_before = self._seen
            return
        for fact in facts:
            if isinstance(fact, StacksSeen) and fact.task:
                main = main_thread(fact)
                self._seen[fact.task] = (fact.pid, main.frames if main else ())
            if isinstance(fact, ProbeBlind):
                if fact.why == self._blind:
                    continue  # told once
                self._blind = fact.why
            yield fact
