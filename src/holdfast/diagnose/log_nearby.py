"""Where a fault lies, from lines around the words that tell of it: a device, a host, a library."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_hits import blamed_as
from holdfast.diagnose.log_places import place_of
from holdfast.diagnose.log_records import text_of
from holdfast.model.facts import LogLine, TracebackSeen

# So far from a cause's words, a line still speaks of the same thing.
NEAR_LINES = 100


def placed(claim: Claim, heard: Sequence[LogLine]) -> Claim:
    """A claim that names nothing but a line of the program, with what its cause's lines name."""
    told = [fact for fact in claim.facts if isinstance(fact, LogLine | TracebackSeen)]
    if claim.culprit or not claim.cause.where or not told:
        return claim
    if claim.place and claim.place != place_of(told[0]):
        return claim
    for pattern in claim.cause.where:
        for text in (*map(text_of, told), *_around(told[0], heard)):
            if found := pattern.search(text):
                culprit, place = blamed_as(found.group("culprit"))
                return replace(claim, culprit=culprit, place=place)
    return claim


def _around(fact: LogLine | TracebackSeen, heard: Sequence[LogLine]) -> list[str]:
    """What stands near it in its file, the nearest first; of two as near, the one above."""
    near = [
        line
        for line in heard
        if line.source == fact.source and abs(line.line - fact.line) <= NEAR_LINES
    ]
    near.sort(key=lambda line: (abs(line.line - fact.line), line.line))
    return [line.text for line in near]
