"""Two tasks that both live cannot reach each other, or only one way.

## What you see
The start-up passes and the first collective fails after 20 s with `connect() timed out`, or
everything stands still. Each of the two answers others; only the way between them is cut.

## Why it happens
A firewall rule for one direction or one pair, a route that exists one way only, hosts on two
networks, a switch that is broken.

## How to confirm it by hand
`nc -vz -w 5` from each of the two hosts to the other's port; one of them hangs.

## What to do
Repair the path in the direction that the finding names.

## When this accusation would be wrong
When a task cannot be reached by anybody: then it is `filtered`. From outside we see that a task
does not find one of its peers, but not always which: then the finding says `likely`. In a run a
short cut is waited for.
"""

from collections.abc import Iterator
from itertools import groupby

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    PathProbed,
    PeersListed,
    SocketsSeen,
    SpecRead,
    StartBlocked,
)
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import members
from holdfast.model.standing import CUT, GIVEN_UP_S, LASTING_S, Standing, missing, standings, views
from holdfast.model.words import listed

TRY_AGAIN_CODE = 75
TRYING_S = 3.0  # a connection that is asked for this long has lost its first packets twice


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _seen_from_two_places(evidence)
    found = standings(evidence)
    all_answer = bool(found) and not missing(evidence)
    if all_answer:
        yield from list(_tried(evidence, found)) or _cannot_see(evidence, found)


def _seen_from_two_places(evidence: Evidence) -> Iterator[Proof]:
    """No answer from one place, an answer from another."""
    found = list(views(evidence))
    ready = {view.task: view for view in found if view.is_ready}
    for view in found:
        other = ready.get(view.task)
        is_cut = view.look.outcome in CUT and _has_lasted(evidence, view)
        if is_cut and other and other.look.address == view.look.address:
            back = _way_back(found, view)
            too, one_way = (" and reaches the other way", " one way") if back else ("", "")
            yield Proof(
                facts=(view.look, other.look, *((back,) if back else ())),
                culprit=view.task,
                seen_at=view.look.task,
                confidence=Confidence.HIGH,
                says=f"{_place(view)} cannot reach {view.task} at {view.look.address}, which"
                f" answers {_place(other)}{too}: the path is cut{one_way}",
                do=_do(_place(view), view.look.address),
            )


def _has_lasted(evidence: Evidence, view: Standing) -> bool:
    """Within a run a cut may be short: whoever asks from outside asks about now."""
    may_heal = any(evidence.of(AttemptStarted)) and not any(evidence.of(StartBlocked))
    return not may_heal or view.look.at_s - view.since_s >= LASTING_S


def _way_back(found: list[Standing], cut: Standing) -> PathProbed | None:
    """A look from the place of the one that cannot be reached, at a task of where we stand."""
    host = cut.look.address.rpartition(":")[0]
    for view in found:
        from_there = view.look.task == cut.task or view.look.host in {host, *cut.look.ips}
        to_here = view.task == cut.look.task or cut.look.host in {
            view.look.address.rpartition(":")[0],
            *view.look.ips,
        }
        if from_there and to_here and view.is_ready:
            return view.look
    return None


def _tried(evidence: Evidence, found: dict[TaskId, Standing]) -> Iterator[Proof]:
    """A task's own connection to a peer gets no answer, and the same peer answers us."""
    at = {standing.look.address: standing for standing in found.values() if standing.is_ready}
    for task in evidence.tasks:
        seen = list(evidence.of(SocketsSeen, task))
        for address in sorted({address for one in seen for address in one.trying} & at.keys()):
            span = _longest_trying(seen, address)
            if span[-1].at_s - span[0].at_s >= _patience_s(evidence, span[-1].at_s):
                peer = at[address].task
                yield Proof(
                    facts=(span[0], span[-1], at[address].look),
                    culprit=peer,
                    seen_at=task,
                    confidence=Confidence.HIGH,
                    says=f"{task} gets no answer from {peer} at {address}, which answers us:"
                    " the path between them is cut",
                    do=_do(str(task), address),
                    exit_code=TRY_AGAIN_CODE,
                )


def _longest_trying(seen: list[SocketsSeen], address: str) -> list[SocketsSeen]:
    """The longest row of looks in which a connection to this address had no answer."""
    rows = [
        list(row) for trying, row in groupby(seen, key=lambda one: address in one.trying) if trying
    ]
    return max(rows, key=lambda row: row[-1].at_s - row[0].at_s)


def _patience_s(evidence: Evidence, at_s: float) -> float:
    """In a run a cut may heal, unless a task gave up over it soon after."""
    if not any(evidence.of(AttemptStarted)):
        return TRYING_S
    failed = any(0 <= failure.at_s - at_s <= LASTING_S for failure in evidence.failures())
    return GIVEN_UP_S if failed or any(evidence.of(StartBlocked)) else LASTING_S


def _cannot_see(evidence: Evidence, found: dict[TaskId, Standing]) -> Iterator[Proof]:
    """All answer us, and some of them still look for a peer."""
    last = {listed.task: listed for listed in evidence.of(PeersListed) if listed.task}
    blind = [
        fact for fact in last.values() if not fact.answered and not _looks_elsewhere(evidence, fact)
    ]
    if not blind or len(last) < len(found):
        return
    lost = sorted(fact.task for fact in blind if fact.task)
    who = "one of its peers" if len(lost) == 1 else "each other, or one of their peers"
    alone = len(lost) == 1
    yield Proof(
        facts=(*blind, *(found[task].look for task in lost if task in found)),
        culprit=lost[0] if alone else None,
        confidence=Confidence.HIGH if alone else Confidence.LIKELY,
        says=f"{listed(lost)} cannot reach {who}, although every task answers us:"
        " the path between them is cut",
        do=(
            f"on the host of {lost[0]}: "
            + "; ".join(
                f"nc -vz -w 5 {' '.join(standing.look.address.rsplit(':', 1))}"
                for task, standing in list(found.items())[:4]
                if task != lost[0]
            ),
        ),
    )


def _looks_elsewhere(evidence: Evidence, blind: PeersListed) -> bool:
    """Whether its own definition has other addresses than those at which its peers answer."""
    found = standings(evidence)
    return any(
        peer in found and address != found[peer].look.address
        for spec in evidence.of(SpecRead, blind.task)
        for peer, address in members(spec).items()
    )


def _place(view: Standing) -> str:
    return str(view.look.task or view.look.host)


def _do(place: str, address: str) -> tuple[str, ...]:
    host, _, port = address.rpartition(":")
    return (
        f"on the host of {place}: nc -vz -w 5 {host} {port}",
        f"open port {port} for {place}, in both directions",
    )


cause = Cause(
    family="network-unreachable",
    detect=detect,
    remedy=AskHuman(),
    yields_to=frozenset({"proxy-hijack"}),
)
