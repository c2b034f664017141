"""A rank that others wait for in a collective: it is late, or it went past without taking part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_records import text_of
from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern

TIMEOUT, MISMATCH = "collective-timeout", "collective-mismatch"
NEVER_STARTED = "never-started"
STALL = Pattern(r"are waiting for remainder of ranks")
# Horovod ends all ranks when one of them leaves: so that one got past what the others wait in.
LEFT = Pattern(r"Horovod has been shut down")
# Of each tensor, Horovod names those who have submitted it, or those who have not.
READY = Pattern(r"\[ready ranks: ([\d, ]+)\]")
MISSING = Pattern(r"\[missing ranks: ([\d, ]+)\]")
# PyTorch counts the operations of each rank: whoever stands at the lowest is behind.
AT_WORK = Pattern(
    r"[Rr]ank (\d+)\] (?:Watchdog caught|Caught) collective operation timeout: \w+\(SeqNum=(\d+)"
)
# PyTorch's barrier at the start: how many were awaited, and how many came.
ALONE = Pattern(
    r"store based barrier on rank: 0\b.*\(world_size=(\d{1,6}), worker_count=1[,)]"
    r"|waiting for clients\. 1/(\d{1,6}) clients joined"
)
ALSO_STALLED = (READY, MISSING)
SETS_MAX = 500


def explained(
    claims: Sequence[Claim],
    told: Sequence[LogLine | TracebackSeen],
    heard: Sequence[LogLine],
    causes: Mapping[str, Cause],
) -> list[Claim]:
    """The claims, those of collectives with the rank that is behind: each rank is told once."""
    found: list[Claim] = []
    for claim in claims:
        one = _explained(claim, told, heard, causes)
        known = any((other.name, other.culprit) == (one.name, one.culprit) for other in found)
        if one is claim or not known:
            found.append(one)
    return found


def _explained(
    claim: Claim,
    told: Sequence[LogLine | TracebackSeen],
    heard: Sequence[LogLine],
    causes: Mapping[str, Cause],
) -> Claim:
    """A collective that timed out, with the rank that is behind, or as a mismatch."""
    if claim.name == NEVER_STARTED:
        return _never_joined(claim)
    if claim.name != TIMEOUT:
        return claim
    if not STALL.search(text_of(claim.facts[0])):
        behind = _behind(heard)
        return replace(claim, culprit=behind, place="") if behind else claim
    ready, missing = _sets(READY, heard), _sets(MISSING, heard)
    if absent := _absent(ready, missing):
        claim = replace(
            claim,
            culprit=absent,
            says=f"some ranks wait in a collective operation, and {absent} has not come",
        )
    if _are_apart(ready) or any(LEFT.search(text_of(record)) for record in told):
        return _as_mismatch(claim, causes)
    return claim


def _never_joined(claim: Claim) -> Claim:
    """Where the first rank was all alone, the others are missing."""
    found = ALONE.search(text_of(claim.facts[0]))
    world = int(found.group(1) or found.group(2)) if found else 0
    if claim.culprit or world < 2:  # noqa: PLR2004 - nobody else was expected
        return claim
    return replace(claim, place="rank 1" if world == 2 else f"ranks 1-{world - 1}")  # noqa: PLR2004


def _as_mismatch(claim: Claim, causes: Mapping[str, Cause]) -> Claim:
    who = claim.culprit or "one rank"
    return replace(
        claim,
        name=MISMATCH,
        cause=causes[MISMATCH],
        says=f"{who} went past a collective operation in which its peers wait",
    )


def _behind(heard: Sequence[LogLine]) -> TaskId | None:
    """Of ranks that stand at different operations, the one at the lowest."""
    lowest: dict[int, int] = {}
    for line in heard:
        for found in AT_WORK.each(line.text):
            rank, at = (int(text[: 2 * INDEX_DIGITS_MAX]) for text in found.groups())
            lowest[rank] = min(at, lowest.get(rank, at))
    if len(set(lowest.values())) < 2:  # noqa: PLR2004 - all stand at the same
        return None
    return TaskId("rank", min(lowest, key=lambda rank: (lowest[rank], rank)))


def _absent(ready: list[frozenset[int]], missing: list[frozenset[int]]) -> TaskId | None:
    """Who has submitted none of the tensors that others have."""
    if missing:
        always = frozenset.intersection(*missing)
    else:
        came = frozenset().union(*ready)
        always = frozenset(range(max(came, default=0))) - came
    return TaskId("rank", min(always)) if always else None


def _are_apart(ready: Iterable[frozenset[int]]) -> bool:
    """Whether some submit one tensor and others another: their order differs."""
    distinct = list(dict.fromkeys(ready))
    return any(not one & other for at, one in enumerate(distinct) for other in distinct[:at])


def _sets(pattern: Pattern, heard: Sequence[LogLine]) -> list[frozenset[int]]:
    found = (match.group(1) for line in heard for match in pattern.each(line.text))
    sets = (frozenset(_numbers(text)) for text, _ in zip(found, range(SETS_MAX), strict=False))
    return [one for one in sets if one]


def _numbers(text: str) -> list[int]:
    words = (word.strip() for word in text.split(","))
    return [int(word) for word in words if word.isdigit() and len(word) <= INDEX_DIGITS_MAX]
