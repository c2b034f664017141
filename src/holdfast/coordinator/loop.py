"""Read a fact, append it, advance, obey. No policy lives here."""

import selectors
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from holdfast.diagnose import diagnose
from holdfast.logdir.journal import Journal
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded, Fact, TimePassed
from holdfast.model.findings import Diagnosis
from holdfast.model.orders import EndAttempt, Order
from holdfast.recover import conclude
from holdfast.recover.life import Life, advance

TICK_S = 0.25
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
        self, life: Life, journal: Journal, sources: Iterable[Source], now: Callable[[], float]
    ) -> None:
        self._life = life
        self._journal = journal
        self._sources = tuple(sources)
        self._now = now
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

    def take(self, batch: Batch) -> None:
        """Append first: what is acted on is in the journal."""
        if not batch:
            return
        self._journal.append(*batch)
        self.facts += batch
        for fact in batch:
            self._life, orders = advance(self._life, fact)
            self._obey(orders)

    def judge(self, at_s: float, host: str) -> tuple[Diagnosis, AttemptEnded]:
        """The verdict on the whole attempt."""
        evidence = Evidence(self.facts)
        diagnosis = diagnose(evidence)
        conclusion = conclude(evidence, diagnosis)
        ended = AttemptEnded(
            at_s=at_s, host=host, exit_code=conclusion.exit_code, why=conclusion.why
        )
        return diagnosis, ended

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
