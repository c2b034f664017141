"""Programs that ended with an exception of their own, where no better cause explains it."""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.diagnose.log_claims import EXCEPTION_WEIGHT, Claim
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_hits import Hit
from holdfast.diagnose.log_places import place_of
from holdfast.model.cluster import TaskId
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence
from holdfast.model.lost_peer import ABORTED, LOST, LOST_ERRORS
from holdfast.model.origin import chains_of, origin_of_chain, quoted_by
from holdfast.model.pattern import Pattern
from holdfast.model.tracebacks import own_frames, place_in
from holdfast.model.wording import Weight

NAME = "user-exception"
# Tracebacks so close together are of one end: of a chain, or of tasks that fell together.
BURST_LINES = 300
# So far above a traceback, a line still speaks of what it is about.
NEAR_LINES = 60
CALM = frozenset({"I", "W"})
# Others are to blame for these: a peer, whoever pressed Ctrl-C, the program that was launched.
NOT_ITS_OWN = Pattern(
    LOST_ERRORS.text + r"|^(?:KeyboardInterrupt|SystemExit|EOFError|BrokenPipeError)$"
    r"|ChildFailedError$|CalledProcessError$|WorkerLostError$|SignalException$|ProcessRaisedException$"
)
# What Python itself raises at a mistake. Others may have met something outside of the program.
MISTAKES = Pattern(
    r"^(?:NameError|UnboundLocalError|AttributeError|TypeError|KeyError|IndexError|ValueError"
    r"|AssertionError|ZeroDivisionError|FileNotFoundError|NotImplementedError|StopIteration"
    r"|RecursionError|UnicodeDecodeError|(?:\w+\.)*JSONDecodeError|argparse\.\w+)$"
)


def exceptions(
    records: Sequence[LogLine | TracebackSeen],
    hits: Sequence[Hit],
    ends: LogEnds,
    causes: Mapping[str, Cause],
    *,
    failed_first: TaskId | None = None,
) -> Iterator[Claim]:
    """For each speaker the first exception of its end, unless a cause knows it better."""
    if NAME not in causes:
        return
    for burst in _last_bursts(records, ends):
        own = [seen for seen in burst if not _is_sent(seen, burst)]
        chains = [chain for chain in chains_of(own) if not _is_of_others(chain[0], hits)]
        if chains and not _is_known(burst, hits):
            order = records.index(chains[0][0])
            yield _claim(chains, order, causes[NAME], failed_first)


def better_known(hits: Sequence[Hit]) -> list[Hit]:
    """Without the words for an exception of any kind, where a cause knows this one better."""
    known = {id(hit.fact) for hit in hits if hit.name != NAME and not hit.is_symptom}
    # A whole traceback tells more than the last line of one, unless that names somebody else.
    known |= {
        id(hit.fact)
        for hit in hits
        if isinstance(hit.fact, TracebackSeen) and not hit.words.blames_named
    }
    return [hit for hit in hits if hit.name != NAME or id(hit.fact) not in known]


def _last_bursts(
    records: Sequence[LogLine | TracebackSeen], ends: LogEnds
) -> Iterator[list[TracebackSeen]]:
    """The tracebacks at the end of each speaker's log, without those that were survived."""
    by_speaker: dict[tuple[str, TaskId | None], list[TracebackSeen]] = {}
    for fact in records:
        if isinstance(fact, TracebackSeen) and not ends.ignored(fact):
            by_speaker.setdefault((fact.source, fact.task), []).append(fact)
    for seen in by_speaker.values():
        final = [one for one in seen if not ends.goes_on_after(one)]
        burst = final[-1:]
        for one in reversed(final[:-1]):
            if burst[0].line - one.line > BURST_LINES:
                break
            burst.insert(0, one)
        if burst:
            yield burst


def _is_sent(seen: TracebackSeen, burst: Sequence[TracebackSeen]) -> bool:
    """Whether it is another task's, and stands in the message of what ended this one's step."""
    outer = quoted_by(seen, burst)
    return outer is not None and ABORTED.search(outer.message) is not None


def _is_of_others(seen: TracebackSeen, hits: Sequence[Hit]) -> bool:
    lost = LOST_ERRORS.search(seen.exception) or ABORTED.search(seen.message)
    symptom = any(hit.fact is seen and hit.words.weight is Weight.SYMPTOM for hit in hits)
    return bool(lost or symptom or NOT_ITS_OWN.search(seen.exception) or LOST.search(seen.message))


def _is_known(burst: Sequence[TracebackSeen], hits: Sequence[Hit]) -> bool:
    """Whether a cause's words stand in it, or shortly above or below it in the same file."""
    return any(
        any(hit.fact is seen for seen in burst) or _explains(hit, burst)
        for hit in hits
        if hit.words.weight is not Weight.SYMPTOM and hit.fact.source == burst[0].source
    )


def _explains(hit: Hit, burst: Sequence[TracebackSeen]) -> bool:
    """Whether a line near a traceback says why: a warning that is only a sign does not."""
    if not isinstance(hit.fact, LogLine):
        return False
    near = burst[0].line - NEAR_LINES <= hit.fact.line <= burst[-1].line + NEAR_LINES
    mistake = any(MISTAKES.search(seen.exception) for seen in burst)
    is_sign = hit.words.weight is Weight.SIGN
    return near and not (is_sign and (mistake or hit.fact.level in CALM))


def _claim(
    chains: Sequence[Sequence[TracebackSeen]],
    order: int,
    cause: Cause,
    failed_first: TaskId | None,
) -> Claim:
    seen = chains[0][0]
    origin = origin_of_chain(chains[0])
    # Of a chain, the first may hold nothing but frames of libraries.
    places = (origin.place, *(place_of(one) for chain in chains for one in chain))
    place = next(filter(None, places), "") or _last_frame(seen)
    culprit = seen.task or failed_first
    who = f"{culprit} ended" if culprit else "the program ended"
    # A mistake in a library that no line of the program led to may have met something outside.
    through_own = not seen.frames or origin.frame
    own = own_frames(seen.frames[-1:]) or (through_own and MISTAKES.search(origin.exception))
    return Claim(
        name=NAME,
        cause=cause,
        weight=EXCEPTION_WEIGHT,
        confidence=Confidence.HIGH if own else Confidence.LIKELY,
        culprit=culprit,
        place="" if culprit else place,
        facts=(seen,),
        says=f"{who} with {origin.text}" + (f", at {place}" if place else "") + origin.other,
        do=(f"correct the program at {place}" if place else "correct the program",),
        order=order,
    )


def _last_frame(seen: TracebackSeen) -> str:
    return place_in(seen.frames[-1]) if seen.frames else ""
