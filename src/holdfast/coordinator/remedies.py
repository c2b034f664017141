"""What is done about failures: decided by the journal, written there, waited for. Not carried out.

Of what is sure it is decided while tasks still live: who may come back alone is restarted, a job
that cannot go on is relaunched at once. Everything else is decided when all tasks have ended, and
all that they had to say is known.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from holdfast.coordinator.kept import kept
from holdfast.coordinator.pausing import Ear, pause
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    StopAsked,
    TaskExited,
    TracebackSeen,
)
from holdfast.model.findings import Diagnosis
from holdfast.model.recovery_facts import (
    CheckpointChosen,
    ProgramRead,
    RemedyAnswered,
    RemedyDecided,
)
from holdfast.model.watch_facts import StacksSeen
from holdfast.recover.by_journal import decide_at_the_end, decide_while_it_runs
from holdfast.recover.decision import (
    NAMES,
    Ask,
    Decision,
    Ending,
    LeaveHost,
    RelaunchAll,
    RestartTasks,
    Stop,
    Wait,
)
from holdfast.recover.history import undone, with_last_steps
from holdfast.recover.policy import OnFailure, Policy

ANSWER_S_MAX = 900.0  # for a person; then it is a no
# What a decision is made from, of the attempts before this one.
CARRIED = (
    *(AttemptStarted, RemedyDecided, RemedyAnswered, CheckpointChosen, ProgramRead),
    *(LogLine, TracebackSeen, StacksSeen),
)
NOT_WORTH_A_WORD = frozenset({Ending.ASKED, Ending.TRAINED})
Batch = list[Fact]


class Told(Protocol):
    """The loop, as far as we need it: what it knows, and who writes down what is new."""

    @property
    def facts(self) -> list[Fact]: ...

    def take(self, batch: Batch) -> None: ...


class Remedies:
    def __init__(
        self,
        policy: Policy,
        *,
        dry_run: bool,
        host: str,
        now: Callable[[], float],
        earlier: Iterable[Fact] = (),
    ) -> None:
        self._policy = policy
        self._dry_run = dry_run
        self._host = host
        self._now = now
        self._earlier = carried(earlier)

    def while_it_runs(self, facts: Sequence[Fact], diagnosis: Diagnosis) -> Batch:
        """What is done at once about a failure or a hang, without waiting for the end of it all.

        A dry run tells it once, and waits as any other: to look again hurts nobody.
        """
        if self._policy.on_failure is not OnFailure.RECOVER:
            return []
        known = [*self._earlier, *facts]
        decision = decide_while_it_runs(known, diagnosis.findings, self._policy, at_s=self._now())
        if decision is None or (self._dry_run and not _is_news(decision, facts)):
            return []
        return [self._fact(decision, facts)]

    def at_the_end(self, loop: Told) -> Decision:
        """What is to be done now that all have ended; what was decided before is not forgotten."""
        known = [*self._earlier, *loop.facts]
        decision = decide_at_the_end(known, self._policy)
        ending = getattr(decision.action, "ending", None)
        left = undone(known)
        late = left is not None and (left.would or left.remedy) == "restart"
        is_news = not self._dry_run or _is_news(decision, loop.facts)
        if (left is None or late) and is_news and ending not in NOT_WORTH_A_WORD:
            loop.take([self._fact(decision, loop.facts)])
        return decision

    def is_to_be_done(self, decision: Decision) -> bool:
        """Whether something is started again, now or if somebody says yes."""
        does = decision.action.would if isinstance(decision.action, Ask) else decision.action
        return isinstance(does, RelaunchAll | LeaveHost) and not self._dry_run

    def wait(self, decision: Decision, loop: Told, ear: Ear, *, ready: Callable[[], bool]) -> bool:
        """Until it is time and all is ready; False: somebody said no, or asked for the end."""
        decided = [fact for fact in loop.facts if isinstance(fact, RemedyDecided)]
        since_s = decided[-1].at_s if decided else self._now()
        if isinstance(decision.action, Ask):
            pause(ear, loop.take, until=lambda: self._is_answered(loop.facts, since_s))
            self._note_silence(loop)
            if not _said_yes(loop.facts):
                return False
        due_s = since_s + decision.wait_s
        pause(
            ear,
            loop.take,
            until=lambda: _asked(loop.facts) or (self._now() >= due_s and ready()),
        )
        return not _asked(loop.facts)

    def give_up(self, decision: Decision, loop: Told, why: str) -> None:
        """It was decided, and cannot be done; without a reason, somebody did not want it."""
        if why:
            action, reason = Stop(Ending.UNABLE, 1), f"{Ending.UNABLE}: {why}"
            stop = replace(decision, action=action, wait_s=0.0, reason=reason)
            loop.take([self._fact(stop, loop.facts)])

    def _is_answered(self, facts: Sequence[Fact], since_s: float) -> bool:
        late = self._now() - since_s >= ANSWER_S_MAX
        return late or _asked(facts) or bool(_answers(facts))

    def _note_silence(self, loop: Told) -> None:
        """Nobody was there to answer: that is a no, and it is written down as such."""
        if not _asked(loop.facts) and not _answers(loop.facts):
            by = f"nobody, within {ANSWER_S_MAX:.0f} s,"
            loop.take([RemedyAnswered(at_s=self._now(), host=self._host, by=by, yes=False)])

    def _fact(self, decision: Decision, facts: Sequence[Fact]) -> RemedyDecided:
        attempt = max(fact.attempt for fact in facts)
        fact = decision.to_fact(at_s=self._now(), host=self._host, attempt=attempt)
        return replace(fact, dry_run=self._dry_run and not isinstance(decision.action, Wait))


def carried(facts: Iterable[Fact]) -> list[Fact]:
    """Of attempts that are over, what later decisions are made from."""
    return [fact for fact in kept(with_last_steps(facts)) if isinstance(fact, CARRIED)]


def _asked(facts: Sequence[Fact]) -> bool:
    return any(isinstance(fact, StopAsked) for fact in facts)


def _answers(facts: Sequence[Fact]) -> list[RemedyAnswered]:
    return [fact for fact in facts if isinstance(fact, RemedyAnswered)]


def _said_yes(facts: Sequence[Fact]) -> bool:
    answers = _answers(facts)
    return bool(answers) and answers[-1].yes


def _is_news(decision: Decision, facts: Sequence[Fact]) -> bool:
    """Whether a dry run has not told yet what would be done about those who failed by now."""
    news = (NAMES[type(decision.action)], decision.cause, decision.culprit)
    told = [fact for fact in facts if isinstance(fact, RemedyDecided) and fact.dry_run]
    if not isinstance(decision.action, RestartTasks):
        return news not in {(fact.remedy, fact.cause, fact.culprit) for fact in told}
    ends = [fact for fact in facts if isinstance(fact, TaskExited) and fact.exit_code != 0]
    return not told or (bool(ends) and told[-1].at_s < ends[-1].at_s)
