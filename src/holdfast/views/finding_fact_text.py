"""What was told, taken back and seen of processes, in one line for a person."""

from collections.abc import Callable
from typing import Any, Final

from holdfast.model.activity_facts import ActivitySeen, AddressesHeld
from holdfast.model.doing_words import process_words
from holdfast.model.facts import Fact
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.words import seconds_text


def activity_says(fact: ActivitySeen) -> str:
    """The process that trains, and whom it waits for."""
    if not fact.processes:
        return "nothing could be seen of its processes"
    words = process_words(fact.processes)
    below = [one for one in fact.processes[1:] if one.pid != fact.processes[0].parent]
    more = sum(f"pid {one.pid} " not in words for one in below)
    others = f"; {more} more below it" if more else ""
    return f"process {fact.processes[0].pid} {words}{others}"


SAY_FINDINGS: Final[dict[type[Fact], Callable[[Any], str]]] = {
    ActivitySeen: activity_says,
    AddressesHeld: lambda fact: f"its program has {', '.join(fact.addresses)}",
    FindingTold: lambda fact: f"{fact.severity}[{fact.cause}]: {fact.says}",
    FindingTakenBack: lambda fact: (
        f"{fact.severity}[{fact.cause}] taken back after {seconds_text(fact.held_s)}: {fact.why}"
    ),
}
