"""The process that looks at tasks while a cluster starts, and ends when all of it is up.

It asks their servers who they are and reads /proc: what definition, sockets and libraries each
task really has. It runs by itself and at low priority: a slow resolver or a peer that never
ends its answer must not hold up anybody, and its memory is gone when training begins.
"""

import contextlib
import sys
import time
from pathlib import Path

import msgspec

from holdfast.agent.clock import Clock
from holdfast.agent.serve import serve, tell
from holdfast.agent.start_order import StartOrder
from holdfast.agent.start_processes import Processes
from holdfast.agent.step_back import step_back
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact, PathProbed, ProbeBlind
from holdfast.model.path import Outcome
from holdfast.model.standing import is_ready
from holdfast.model.watch_facts import ObserverLate
from holdfast.probes.paths import Place, probe_paths

EARLY_S, LATE_S = 60.0, 300.0
EVERY_S, EVERY_LATER_S, EVERY_LATE_S = 1.0, 2.0, 5.0
CONNECT_S, ANSWER_S = 2.0, 1.5
LATE_S_MIN = 0.5  # by which a look may exceed its limits
AGAIN_S, REFUSED_AGAIN_S = 2.0, 15.0  # how often an outcome that stays is worth a fact
FACTS_A_ROUND_MAX = 200
REST_FOR_WORK = 20  # a start-up of a thousand tasks takes 5 % of a core, not more
STEPS_S = 20.0  # after everybody has answered
AFTERWARDS_S = 30.0  # for the last word on those who wait for one that has failed


class Looker:
    def __init__(self, order: StartOrder) -> None:
        self._order = order
        self._clock = Clock(order.zero_s)
        given = {TaskId.parse(name): address for name, address in order.addresses.items()}
        self._members = {
            task: address for task, address in given.items() if task.role != "evaluator"
        }
        self._told: dict[tuple[TaskId | None, TaskId | None, str], PathProbed] = {}
        self._ready: set[TaskId] = set()
        self._gone: set[TaskId] = set()
        self._whole_s = 0.0  # since when everybody has answered
        self._cpu_s = time.process_time()  # when the last round began
        run_dir = open_run_dir(Path(order.run_dir))
        self._processes = Processes(
            run_dir,
            ClusterSpec(given),
            host=order.host,
            clock=self._clock,
            attempt=order.attempt,
        )

    def hear(self, words: str) -> bool:
        """What the agent knows first: who has started, and who has ended."""
        what, _, rest = words.partition(" ")
        name, _, pid = rest.partition(" ")
        if what == "started":
            self._processes.started(TaskId.parse(name), int(pid))
        elif what == "ended":
            self._processes.ended(TaskId.parse(name))
            self._gone.add(TaskId.parse(name))
        return True

    def look(self) -> bool:
        """One round; whether another one is needed."""
        self._cpu_s = time.process_time()
        tell(self._processes.look())
        if self._processes.are_foreign():
            return False
        awaited = [
            Place(address, task)
            for task, address in self._members.items()
            if task not in self._ready | self._gone
        ]
        told, longest_s = 0, 0.0
        for look in probe_paths(
            awaited,
            at_s=self._clock.at_s,
            host=self._order.host,
            connect_s=CONNECT_S,
            answer_s=ANSWER_S,
        ):
            if look.target and is_ready(look):
                self._ready.add(look.target)
            told += self._tell(look, told)
            longest_s = max(longest_s, look.took_s)
        tell(self._if_late(longest_s))
        for owner, places in self._processes.other_places().items():
            for look in probe_paths(
                places,
                at_s=self._clock.at_s,
                host=self._order.host,
                connect_s=CONNECT_S,
                answer_s=ANSWER_S,
                from_task=owner,
            ):
                told += self._tell(look, told)
        return self._is_needed()

    def _if_late(self, longest_s: float) -> list[Fact]:
        """A look has its limits: where it took longer, we ourselves got no core."""
        late_s = longest_s - CONNECT_S - 2 * ANSWER_S  # it is greeted, then asked
        if late_s <= LATE_S_MIN:
            return []
        at_s, host = self._clock.at_s(), self._order.host
        return [ObserverLate(at_s=at_s, host=host, late_s=round(late_s, 3), observer="looker")]

    def _tell(self, look: PathProbed, told: int) -> bool:
        """An outcome is a fact when it is new, and again when it stays."""
        key = (look.task, look.target, look.address)
        before = self._told.get(key)
        again_s = REFUSED_AGAIN_S if look.outcome == Outcome.REFUSED else AGAIN_S
        same = before is not None and (before.outcome, before.name) == (look.outcome, look.name)
        if told >= FACTS_A_ROUND_MAX or (before and same and look.at_s - before.at_s < again_s):
            return False
        self._told[key] = look
        tell([look])
        return True

    def _is_needed(self) -> bool:
        """Until all have answered. Who went before it did may still be waited for."""
        at_s = self._clock.at_s()
        if self._members.keys() <= self._ready:
            # They can be asked by us, but not always by each other: their first steps tell.
            self._whole_s = self._whole_s or at_s
            until_s = self._whole_s + STEPS_S
            if self._processes.are_trying() or self._processes.are_idle():
                until_s = max(until_s, self._order.deadline_s + AFTERWARDS_S)
            return at_s < until_s
        if self._members.keys() <= self._ready | self._gone:
            return at_s < self._order.deadline_s + AFTERWARDS_S
        # On a busy host TensorFlow alone takes a minute to be there.
        late = self._processes.have_tensorflow() and at_s < self._order.deadline_s + LATE_S
        return at_s < self._order.deadline_s or bool(self._ready) or late

    def pause_s(self) -> float:
        """The longer a job takes to start, the less often; and never much of a core."""
        at_s = self._clock.at_s()
        every_s = EVERY_S if at_s < EARLY_S and not self._whole_s else EVERY_LATER_S
        every_s = every_s if at_s < LATE_S else EVERY_LATE_S
        used_s = time.process_time() - self._cpu_s
        return max(every_s, REST_FOR_WORK * used_s)

    def blind(self, error: HoldfastError) -> ProbeBlind:
        why = f"{error.message} ({error.do})"
        return ProbeBlind(at_s=self._clock.at_s(), host=self._order.host, probe="start-up", why=why)


def main() -> None:
    step_back()
    looker = Looker(msgspec.json.decode(sys.argv[1], type=StartOrder))
    with contextlib.suppress(BrokenPipeError):
        try:
            serve(looker.hear, looker.look, looker.pause_s)
        except HoldfastError as error:  # no grpcio here: the rest of the run does not need it
            tell([looker.blind(error)])


if __name__ == "__main__":
    main()
