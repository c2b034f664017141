"""Read a fact, append it, advance, obey. No policy lives here."""

import selectors
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from holdfast.diagnose import diagnose
from holdfast.logdir.journal import Journal
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded, Fact, TaskExited, TaskNotStarted, TimePassed
from holdfast.model.findings import Confidence, Diagnosis, Finding
from holdfast.model.orders import EndAttempt, Order
from holdfast.recover import conclude
from holdfast.recover.life import Life, advance

TICK_S = 0.25
# After a death its last lines are still being read: wait for them before accusing anybody.
JUDGE_AFTER_S = 1.0
Batch = list[Fact]


class Source(Protocol):
    """Whoever sees facts: the agent, and the door through which requests come."""

    def waitables(self) -> dict[int, Callable[[], Iterator[Batch]]]:
        """What to wait for, and what to do when it is readable."""

    def look(self) -> Iterator[Batch]:
        """What nothing readable tells of."""

    def obey(self, order: Order) -> Iterator[Batch]:
        """Do it, and tell what was done."""


class Loop:
    def __init__(
        self,
        life: Life,
        journal: Journal,
        sources: Iterable[Source],
        *,
        now: Callable[[], float],
        tell: Callable[[Finding, Evidence], None],
    ) -> None:
        self._life = life
        self._journal = journal
        self._sources = tuple(sources)
        self._now = now
        self._tell = tell
        self._told: set[tuple[str, str]] = set()
        self._judge_at_s: float | None = None
        self.facts: list[Fact] = []
        self.ending: EndAttempt | None = None

    def run(self, first: Iterable[Batch], host: str) -> None:
        """Until every task has ended."""
        for batch in first:
            self.take(batch)
        while self.ending is None:
            for ready in self._wait():
                for batch in ready():
                    self.take(batch)
            for source in self._sources:
                for batch in source.look():
                    self.take(batch)
            self._tick(TimePassed(at_s=self._now(), host=host))
            if self._judge_at_s is not None and self._now() >= self._judge_at_s:
                self._judge_at_s = None
                self._tell_new(surely=True)

    def take(self, batch: Batch) -> None:
        """Append first: what is acted on is in the journal."""
        if not batch:
            return
        self._journal.append(*batch)
        self.facts += batch
        for fact in batch:
            if _is_failure(fact):
                self._judge_at_s = fact.at_s + JUDGE_AFTER_S
            self._life, orders = advance(self._life, fact)
            self._obey(orders)

    def judge(self, at_s: float, host: str) -> tuple[Diagnosis, AttemptEnded]:
        """The verdict on the whole attempt."""
        evidence, diagnosis = self._tell_new(surely=False)
        conclusion = conclude(evidence, diagnosis)
        ended = AttemptEnded(
            at_s=at_s, host=host, exit_code=conclusion.exit_code, why=conclusion.why
        )
        return diagnosis, ended

    def _tell_new(self, *, surely: bool) -> tuple[Evidence, Diagnosis]:
        """Tell each finding once: during the run only what is sure and no mere echo."""
        evidence = Evidence(self.facts)
        diagnosis = diagnose(evidence)
        for finding in diagnosis.findings:
            key = (finding.name, str(finding.proof.culprit))
            if key not in self._told and (not surely or _is_sure(finding)):
                self._told.add(key)
                self._tell(finding, evidence)
        return evidence, diagnosis

    def _wait(self) -> list[Callable[[], Iterator[Batch]]]:
        with selectors.DefaultSelector() as selector:
            for source in self._sources:
                for fd, act in source.waitables().items():
                    selector.register(fd, selectors.EVENT_READ, act)
            return [key.data for key, _ in selector.select(TICK_S)]

    def _tick(self, tick: TimePassed) -> None:
        """A tick that changes nothing is not worth a line in the journal."""
        life, orders = advance(self._life, tick)
        if orders:
            self._journal.append(tick)
            self.facts.append(tick)
        self._life = life
        self._obey(orders)

    def _obey(self, orders: Iterable[Order]) -> None:
        for order in orders:
            if isinstance(order, EndAttempt):
                self.ending = order
            for source in self._sources:
                for batch in source.obey(order):
                    self.take(batch)


def _is_failure(fact: Fact) -> bool:
    ended_badly = isinstance(fact, TaskExited) and fact.exit_code != 0
    return ended_badly or isinstance(fact, TaskNotStarted)


def _is_sure(finding: Finding) -> bool:
    sure = finding.proof.confidence in {Confidence.CERTAIN, Confidence.HIGH}
    return sure and not finding.cause.echo
