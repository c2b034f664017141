"""Of tasks that should all be at one line of a program: the one that was at another."""

from collections import Counter
from collections.abc import Mapping

from holdfast.model.cluster import TaskId
from holdfast.model.facts import TracebackSeen
from holdfast.model.tracebacks import own_frames

VOTERS_MIN = 3


def place_in_program(seen: TracebackSeen) -> str:
    """`/home/user/train.py:9`: the innermost line of the program itself; empty: none is known."""
    own = own_frames(seen.frames)
    return own[-1].partition(" ")[0] if own else ""


def stands_elsewhere(ended: Mapping[TaskId, TracebackSeen]) -> TaskId | None:
    """The one whose own program was at another place than all the others were."""
    places = {task: place_in_program(seen) for task, seen in ended.items()}
    counts = Counter(places.values())
    alone = [task for task, place in places.items() if place and counts[place] == 1]
    if len(places) < VOTERS_MIN or len(alone) != 1 or len(counts) != len(alone) + 1:
        return None
    return alone[0]
