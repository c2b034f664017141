"""Read a fact, append it, advance, obey. No policy lives here."""

import contextlib
import selectors
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from holdfast.coordinator.judging import Judging
from holdfast.coordinator.telling import Tell
from holdfast.logdir.journal import Journal
from holdfast.model.errors import StorageFailed
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TimePassed
from holdfast.model.findings import Diagnosis
from holdfast.model.orders import EndAttempt, Order
from holdfast.recover import Conclusion, conclude
from holdfast.recover.life import Life, Phase, advance

TICK_S = 0.5
UNSAVED_MAX = 100_000
Batch = list[Fact]


class Source(Protocol):
    """Whoever sees facts: the agent, and the door through which requests come."""

    def waitables(self) -> dict[int, Callable[[], Iterator[Batch]]]:
        """What to wait for, and what to do when it is readable."""

    def look(self) -> Iterator[Batch]:
        """What nothing readable tells of."""

    def obey(self, order: Order) -> Iterator[Batch]:
        """Do it, and tell what was done."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an attempt comes to."""

    evidence: Evidence
    diagnosis: Diagnosis
    conclusion: Conclusion


class Loop:
    def __init__(
        self,
        life: Life,
        journal: Journal,
        sources: Iterable[Source],
        *,
        now: Callable[[], float],
        tell: Tell,
        attempt: int = 1,
        remedy: Callable[[Sequence[Fact], Diagnosis], Batch] | None = None,
    ) -> None:
        self._attempt = attempt
        self._remedy = remedy  # what is decided about failures while tasks live
        self._life = life
        self._journal = journal
        self._sources = tuple(sources)
        self._now = now
        self._judging = Judging(now=now, tell=tell)
        self._under_way: dict[int, Iterator[Batch]] = {}
        self._looking: Iterator[Batch] = iter(())
        self._idle = True  # nothing to look at until the next tick
        self.unsaved: list[Fact] = []
        self._trouble = False
        self.ending: EndAttempt | None = None

    @property
    def facts(self) -> list[Fact]:
        return self._judging.facts

    def recall(self, facts: Iterable[Fact]) -> None:
        """Go on where another supervisor was: these facts are in the journal, and acted on."""
        self._judging.recall(facts)
        if self._life.phase is Phase.ENDED:
            self.ending = EndAttempt(why=self._life.why)

    def run(self, first: Iterable[Batch], host: str) -> None:
        """Until every task has ended."""
        for batch in first:
            self.take(batch)
        while self.ending is None or self._under_way:
            self._take_what_comes()
            if self._under_way:
                continue
            if not self._take_next(self._looking):
                self._looking = self._look()
            self._tick(TimePassed(at_s=self._now(), host=host))
            if self._judging.is_due():
                changes, diagnosis = self._judging.judge_live(host)
                self.take(changes)
                self.take(self._remedy(self.facts, diagnosis) if self._remedy else [])

    def _look(self) -> Iterator[Batch]:
        """What nothing readable tells of, a little at a time; then a pause until the next tick."""
        for source in self._sources:
            for batch in source.look():
                self._idle = False
                yield batch
        self._idle = True

    def _take_what_comes(self) -> None:
        """The first word of everybody who speaks, then one more of somebody who goes on.

        A death is told in the first; what explains it takes longer, and must not make the
        next death wait.
        """
        for fd, act in self._wait():
            speaking = act()
            if self._take_next(speaking):
                self._under_way[fd] = speaking
        if self._under_way:
            fd, speaking = next(iter(self._under_way.items()))
            if not self._take_next(speaking):
                del self._under_way[fd]

    def _take_next(self, speaking: Iterator[Batch]) -> bool:
        batch = next(speaking, None)
        if batch is not None:
            self.take(batch)
        return batch is not None

    def take(self, batch: Batch) -> None:
        """Append first: what is acted on is in the journal."""
        if not batch:
            return
        batch = [self._of_attempt(fact) for fact in batch]
        self._append(batch)
        self._judging.take(batch)
        for fact in batch:
            self._life, orders = advance(self._life, fact)
            self._obey(orders)

    def _of_attempt(self, fact: Fact) -> Fact:
        """Whoever saw it, it belongs to the attempt that goes on."""
        same = fact.attempt == self._attempt
        return fact if same else replace(fact, attempt=self._attempt)

    def _append(self, batch: Batch) -> None:
        """A full disk must not end the job: what does not go in now goes in with the next."""
        self.unsaved += batch
        try:
            self._journal.append(*self.unsaved)
        except StorageFailed as error:
            if not self._trouble:
                complain(f"{error}; kept in memory until it goes again")
            self._trouble = True
            del self.unsaved[UNSAVED_MAX:]  # the first ones tell most
            return
        self.unsaved.clear()
        self._trouble = False

    def judge(self, host: str) -> Verdict:
        """The verdict on the whole attempt."""
        told, evidence, diagnosis = self._judging.judge(host)
        self.take(told)
        return Verdict(evidence, diagnosis, conclude(evidence, diagnosis))

    def _wait(self) -> list[tuple[int, Callable[[], Iterator[Batch]]]]:
        """Who speaks now, without those who are still under way."""
        with selectors.DefaultSelector() as selector:
            for source in self._sources:
                for fd, act in source.waitables().items():
                    if fd not in self._under_way:
                        selector.register(fd, selectors.EVENT_READ, act)
            rest_s = min(TICK_S, self._judging.due_in_s())
            ready = selector.select(rest_s if self._idle and not self._under_way else 0)
            return [(key.fd, key.data) for key, _ in ready]

    def _tick(self, tick: TimePassed) -> None:
        """A tick that changes nothing is not worth a line in the journal."""
        life, orders = advance(self._life, tick)
        if orders:
            told = self._of_attempt(tick)
            self._append([told])
            self._judging.take([told])
        self._life = life
        self._obey(orders)

    def _obey(self, orders: Iterable[Order]) -> None:
        for order in orders:
            if isinstance(order, EndAttempt):
                self.ending = order
            for source in self._sources:
                for batch in source.obey(order):
                    self.take(batch)


def complain(words: str) -> None:
    """Into the supervisor's log, which may lie on the very disk that is full."""
    with contextlib.suppress(OSError):
        sys.stderr.write(words + "\n")
        sys.stderr.flush()
