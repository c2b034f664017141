"""Where a fault lies, from lines around the words that tell of it: a device, a host, a library."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_hits import blamed_as
from holdfast.diagnose.log_places import IN_A_DEVICE, place_of
from holdfast.diagnose.log_records import text_of
from holdfast.model.cluster import TaskId
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.tracebacks import own_frames

# So far from a cause's words, a line still speaks of the same thing.
NEAR_LINES = 100


def placed(claim: Claim, heard: Sequence[LogLine], failed_first: TaskId | None) -> Claim:
    """A claim that names at most a line of the program, with what the lines around it name."""
    told = [fact for fact in claim.facts if isinstance(fact, LogLine | TracebackSeen)]
    if claim.culprit or not told:
        return claim
    vague = not claim.place or claim.place == place_of(told[0])
    if failed_first and (vague or claim.cause.family in IN_A_DEVICE) and not claim.symptom:
        return replace(claim, culprit=failed_first, place="")
    if not vague:
        return claim
    for pattern in claim.cause.where:
        for text in (*map(text_of, told), *_code(told[0]), *_around(told[0], heard)):
            if found := pattern.search(text):
                culprit, place = blamed_as(found.group("culprit"))
                return replace(claim, culprit=culprit, place=place)
    return claim


def _code(fact: LogLine | TracebackSeen) -> list[str]:
    """What the program's own frames run, the innermost first."""
    return own_frames(fact.frames)[::-1] if isinstance(fact, TracebackSeen) else []


def _around(fact: LogLine | TracebackSeen, heard: Sequence[LogLine]) -> list[str]:
    """What stands near it in its file, the nearest first; of two as near, the one above."""
    near = [
        line
        for line in heard
        if line.source == fact.source and abs(line.line - fact.line) <= NEAR_LINES
    ]
    near.sort(key=lambda line: (abs(line.line - fact.line), line.line))
    return [line.text for line in near]
