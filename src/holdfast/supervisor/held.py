"""What a supervisor holds of a job, and how an attempt of it is begun."""

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast import __version__
from holdfast.agent.clock import Clock
from holdfast.agent.holding import Holding
from holdfast.logdir.journal import Journal
from holdfast.logdir.run_dir import RunDir
from holdfast.model.facts import AttemptStarted, Fact
from holdfast.model.plan import Plan
from holdfast.probes.program_words import program_words


@dataclass(slots=True)
class Held:
    """New, or left by another supervisor with all that it saw."""

    plan: Plan
    run_dir: RunDir
    journal: Journal
    holding: Holding
    clock: Clock  # of the attempt that goes on
    host: str
    claims: tuple[socket.socket, ...] = ()  # on ports that were chosen for a later attempt

    def where(self) -> dict[str, Any]:
        return {"at_s": self.clock.at_s(), "host": self.host}

    def tell_holder(self) -> None:
        """Which attempt this is, and who listens where in it."""
        self.holding.begin_anew(
            self.plan.attempt,
            zero_s=self.clock.zero_s,
            addresses={str(one.task): one.address for one in self.plan.tasks if one.address},
        )

    def words_of_program(self) -> tuple[Fact, ...]:
        """How it is distributed, and whether it saves when it is told to go."""
        return tuple(program_words(self.plan.tasks[0].command, self.where()))


def begun_now(plan: Plan, host: str) -> AttemptStarted:
    """The first fact of an attempt."""
    return AttemptStarted(
        at_s=0.0,
        host=host,
        attempt=plan.attempt,
        began_unix_s=time.time(),
        tasks=tuple(str(planned.task) for planned in plan.tasks),
        holdfast=__version__,
        hang_after_s=plan.hang_after_s,
        start_deadline_s=plan.start_deadline_s,
    )


def newest_attempt(facts: Sequence[Fact]) -> AttemptStarted:
    started = (fact for fact in facts if isinstance(fact, AttemptStarted))
    return max(started, key=lambda fact: fact.attempt)
