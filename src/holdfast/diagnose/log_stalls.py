"""A rank that others wait for in a collective: it is late, or it went past without taking part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_records import text_of
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern

TIMEOUT, MISMATCH = "collective-timeout", "collective-mismatch"
STALL = Pattern(r"are waiting for remainder of ranks")
# Horovod ends all ranks when one of them leaves: so that one got past what the others wait in.
LEFT = Pattern(r"Horovod has been shut down")


def went_past(
    claim: Claim, records: Sequence[LogLine | TracebackSeen], causes: Mapping[str, Cause]
) -> Claim:
    """A stall that ended because a rank left is a mismatch: it skipped what its peers submit."""
    stalled = claim.name == TIMEOUT and STALL.search(text_of(claim.facts[0]))
    if not stalled or not any(LEFT.search(text_of(record)) for record in records):
        return claim
    who = claim.culprit or "one rank"
    return replace(
        claim,
        name=MISMATCH,
        cause=causes[MISMATCH],
        says=f"{who} went past a collective operation in which its peers wait",
    )
