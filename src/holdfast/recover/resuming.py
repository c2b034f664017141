"""Where an attempt stood when its supervisor died: its journal, replayed. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from holdfast.model.facts import Fact, SignalSent
from holdfast.recover.life import Life, advance


def replayed(life: Life, facts: Iterable[Fact]) -> Life:
    """The state after all these facts. What was ordered, and not done, will be ordered again.

    An order that came just before the death may not have been obeyed: a signal counts as sent
    only if the journal says so. Nobody watches for idle tasks any more: that is asked anew.
    """
    sent: set[tuple[object, int]] = set()
    for fact in facts:
        life, _ = advance(life, fact)
        if isinstance(fact, SignalSent):
            sent.add((fact.task, fact.signal))
    asked = {task: told for task, told in life.asked.items() if (task, told.signal) in sent}
    restarts = {task: replace(again, ordered=False) for task, again in life.restarts.items()}
    return replace(life, asked=asked, watched={}, restarts=restarts)
