"""Paths between tasks that are cut while a job trains: what the kernels send again in vain."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import CHIEF, Evidence
from holdfast.model.facts import ProcessSeen
from holdfast.model.watch_facts import LinkSeen

# The kernel waits 0.2 s before it sends again, then twice as long each time: the fourth time
# is 3 s after the first. On a path that loses one packet in twenty, one in 100 000 fares so.
SURE = ((4, 1.9), (3, 3.0))  # sent again so often, seen for so long
LOSSY = 2  # times in a minute: one may be a moment in which a host had no time
# Where what was sent again got through before, packets are lost at random: waiting longer
# proves little, so that two directions must fail together, or one for very long.
SURE_IF_LOSSY_TWICE, SURE_IF_LOSSY = ((5, 8.0),), ((8, 30.0),)
ROUNDED_S = 0.001
SUSPECT = 2  # times: too few to accuse, enough to tell who is the centre of it
REPEATED_S = 15.0  # a link that does not flow is told every 5 s; later than this it is over
GAVE_UP_S = 15.0  # what fails within this after a cut, fails over it


@dataclass(frozen=True, slots=True)
class Cut:
    """What `sender` sends to `receiver` is not acknowledged, although both live."""

    sender: TaskId
    receiver: TaskId
    first: LinkSeen
    last: LinkSeen  # the longest of it
    sure: bool

    @property
    def facts(self) -> tuple[LinkSeen, ...]:
        return (self.first,) if self.first is self.last else (self.first, self.last)

    @property
    def pair(self) -> frozenset[TaskId]:
        return frozenset({self.sender, self.receiver})


@dataclass(frozen=True, slots=True)
class _Spell:
    """A row of facts about one connection whose data is sent again and again."""

    facts: tuple[LinkSeen, ...]
    flows: bool  # it went on afterwards


def cuts(evidence: Evidence) -> list[Cut]:
    """Every direction between two tasks that is cut, or was until somebody failed over it."""
    evidence = evidence.while_running
    spells = [spell for spell in _spells(evidence) if _counts(evidence, spell)]
    ends: dict[frozenset[TaskId | None], int] = {}
    for spell in spells:
        pair = frozenset({spell.facts[0].task, spell.facts[0].peer})
        ends[pair] = ends.get(pair, 0) + 1
    made = [_cut(evidence, spell, ends) for spell in spells if spell.facts[0].task]
    made.sort(key=lambda cut: (cut.sure, -cut.first.at_s))
    return list({(cut.sender, cut.receiver): cut for cut in made}.values())


def _cut(evidence: Evidence, spell: _Spell, ends: dict[frozenset[TaskId | None], int]) -> Cut:
    worst = max(spell.facts, key=lambda fact: (fact.retransmits, fact.lasting_s))
    sender, receiver = cast("TaskId", worst.task), worst.peer
    count = ends[frozenset({sender, receiver})]
    sure = any(_is_sure(evidence, fact, ends=count) for fact in spell.facts)
    return Cut(sender, receiver, spell.facts[0], worst, sure)


def _spells(evidence: Evidence) -> Iterator[_Spell]:
    """Each until its connection flowed again, or was told of no more."""
    by_link: dict[tuple[TaskId | None, TaskId, str], list[LinkSeen]] = {}
    for fact in evidence.of(LinkSeen):
        by_link.setdefault((fact.task, fact.peer, fact.address), []).append(fact)
    for facts in by_link.values():
        spell: list[LinkSeen] = []
        for fact, later in zip(facts, (*facts[1:], None), strict=True):
            if fact.retransmits >= SUSPECT and _both_live(evidence, fact):
                spell.append(fact)
            flows = later is not None and not later.send_bytes
            if spell and (flows or later is None or later.at_s - fact.at_s > REPEATED_S):
                yield _Spell(tuple(spell), flows)
                spell = []


def _both_live(evidence: Evidence, fact: LinkSeen) -> bool:
    """Not after an end, and not while one is stopped: then its peer's data is not at fault."""
    for task in (fact.task, fact.peer):
        exited = evidence.exit_of(task)
        if exited is not None and exited.at_s <= fact.at_s:
            return False
        seen = [one for one in evidence.of(ProcessSeen, task) if one.at_s <= fact.at_s]
        if seen and (seen[-1].state in {"T", "t"} or seen[-1].frozen):
            return False
    return True


def _counts(evidence: Evidence, spell: _Spell) -> bool:
    """It lasts until now, or somebody failed over it: a cut that healed harmed nobody."""
    end_s = spell.facts[-1].at_s
    told = evidence.facts[-1].at_s - end_s <= REPEATED_S
    last = spell.facts[-1]
    over = spell.flows or _flows_after(evidence, last) or _finished_after(evidence, last)
    lasts = told and not over
    failed = (failure.at_s - end_s for failure in evidence.failures())
    return lasts or any(0 <= after_s <= GAVE_UP_S for after_s in failed)


def _flows_after(evidence: Evidence, last: LinkSeen) -> bool:
    """Whether another connection of the two flowed again since: both ways, or it would not."""
    pair = {last.task, last.peer}
    return any(
        {fact.task, fact.peer} == pair and not fact.send_bytes and fact.at_s > last.at_s
        for fact in evidence.of(LinkSeen)
    )


def _finished_after(evidence: Evidence, last: LinkSeen) -> bool:
    """Whether those of the two who train have ended well since: it got through after all."""
    ends = [evidence.exit_of(task) for task in (last.task, last.peer) if task and task.trains]
    return bool(ends) and all(
        end is not None and end.exit_code == 0 and end.at_s > last.at_s for end in ends
    )


def _is_sure(evidence: Evidence, fact: LinkSeen, *, ends: int) -> bool:
    """Only time in which both could run counts, by what was known then.

    The kernel acknowledges nothing for a task that lost its core in the middle of a read. A later
    measure is of a longer time than these seconds: it must not undo what was sure.
    """
    enough = SURE
    if fact.recovered >= LOSSY:
        enough = (*SURE_IF_LOSSY, *(SURE_IF_LOSSY_TWICE if ends > 1 else ()))
    since_s = fact.at_s - fact.lasting_s
    able_s = min(
        able_to_run_s(evidence, task, since_s=since_s, until_s=fact.at_s, known_s=fact.at_s)
        for task in (fact.task, fact.peer)
    )
    # Within the rounding of both, not less than what was seen.
    return any(fact.retransmits >= again and able_s + ROUNDED_S >= for_s for again, for_s in enough)


def centres(found: list[Cut]) -> Iterator[tuple[TaskId, list[Cut]]]:
    """Who is at the centre of the cuts, each with those that it explains; the widest first.

    Of two tasks that only cannot reach each other, one is as good as the other: it is named
    whom the others need less.
    """
    left = list(found)
    while left:
        centre = max({task for cut in left for task in cut.pair}, key=partial(_weight, left))
        mine = [cut for cut in left if centre in cut.pair]
        left = [cut for cut in left if centre not in cut.pair]
        if any(cut.sure for cut in mine):
            yield centre, mine


def _weight(found: list[Cut], task: TaskId) -> tuple[int, bool, bool, bool, TaskId]:
    """The more peers a task is cut off from, the more it is the one."""
    return (
        len({cut.pair for cut in found if task in cut.pair}),
        task != CHIEF,
        task.role != "ps",  # it serves the others, too
        all(task != cut.sender for cut in found),
        task,
    )
