"""Two tasks that both live cannot reach each other, or only one way.

## What you see
The start-up passes and the first collective fails after 20 s with `connect() timed out`, or
everything stands still. Each of the two answers others; only the way between them is cut. While
a job trains, TensorFlow says nothing for 15 minutes, or that a task has crashed which lives.

## Why it happens
A firewall rule for one direction or one pair, a route that exists one way only, hosts on two
networks, a switch that is broken.

## How to confirm it by hand
`nc -vz -w 5` from each of the two hosts to the other's port; one of them hangs. While a job
trains, `ss -tino` shows data in Send-Q with `backoff:` on exactly the links between the two.

## What to do
Repair the path in the direction that the finding names.

## When this accusation would be wrong
When a task cannot be reached by anybody: then it is `filtered`. When all of those that were named
wait for a task that was not: so addresses alone, without a definition, prove nothing. From
outside we see that a task does not find one of its peers, but not always which: then the finding
says `likely`. In a run a short cut is waited for. While a job trains, a path that loses one
packet in five can look cut for some seconds: where packets got through before, it takes longer
until it is called a cut. From one pair alone nobody can tell on whose side the fault is, nor,
when both ends send in vain, whether it is one way only: acknowledgements take the same path. A
starved task may be slow to acknowledge, because it lost its core in the middle of a read: while a
job trains, only time in which both ends had a core counts.
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
from holdfast.model.findings import TRY_AGAIN_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.link_cuts import Cut, centres, cuts
from holdfast.model.lost_hosts import addresses_of, lost_hosts
from holdfast.model.remedies import CUT_WAITS_S, WaitAndSee
from holdfast.model.spec import members
from holdfast.model.standing import (
    CUT,
    GIVEN_UP_S,
    LASTING_S,
    Standing,
    is_ready,
    lasted_s,
    missing,
    standings,
    views,
)
from holdfast.model.words import listed, seconds_text

FAST_S = 0.25  # a status over a path that loses nothing; a lost packet alone costs more
ROUND_S = 2.0  # all tasks of a host are looked at within this
TRYING_S = 3.0  # a connection that is asked for this long has lost its first packets twice


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _while_training(evidence)
    yield from _seen_from_two_places(evidence)
    found = standings(evidence)
    all_answer = bool(found) and not missing(evidence)
    if all_answer:
        yield from list(_tried(evidence, found)) or _cannot_see(evidence, found)


def _while_training(evidence: Evidence) -> Iterator[Proof]:
    """Data that a kernel sends again and again, while both tasks live."""
    found, servers = cuts(evidence), addresses_of(evidence)
    lost = [cut for across in lost_hosts(evidence, found).values() for cut in across]
    for centre, mine in centres([cut for cut in found if cut not in lost]):
        worst = max(mine, key=lambda cut: (cut.sure, cut.last.retransmits))
        others = sorted({task for cut in mine for task in cut.pair} - {centre})
        yield Proof(
            facts=tuple(fact for cut in mine for fact in cut.facts),
            culprit=centre,
            seen_at=others[0] if len(others) == 1 else None,
            confidence=Confidence.HIGH,
            says=_cut_says(centre, others, mine, worst),
            do=_do(str(worst.sender), servers.get(worst.receiver, worst.last.address)),
            exit_code=TRY_AGAIN_CODE,
        )


def _cut_says(centre: TaskId, others: list[TaskId], mine: list[Cut], worst: Cut) -> str:
    last = worst.last
    vain = (
        f"{last.send_bytes} bytes from {worst.sender} to {worst.receiver} at {last.address} were"
        f" sent again {last.retransmits} times in {seconds_text(last.lasting_s)}, and are not"
        " acknowledged"
    )
    if len(others) > 1:
        return f"{centre} is cut off from {listed(others)}, and all of them live: {vain}"
    both = len({cut.sender for cut in mine}) > 1
    way = ", nor are any the other way" if both else ""
    return f"the path between {centre} and {others[0]} is cut, and both live: {vain}{way}"


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
                confidence=Confidence.HIGH if view.seen_twice else Confidence.LIKELY,
                says=f"{_place(view)} cannot reach {view.task} at {view.look.address}, which"
                f" answers {_place(other)}{too}: the path is cut{one_way}",
                do=_do(_place(view), view.look.address),
            )


def _has_lasted(evidence: Evidence, view: Standing) -> bool:
    """Within a run a cut may be short: whoever asks from outside asks about now."""
    may_heal = any(evidence.of(AttemptStarted)) and not any(evidence.of(StartBlocked))
    return not may_heal or lasted_s(evidence, view) >= LASTING_S


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
            lasts_s = span[-1].at_s - span[0].at_s
            is_long = lasts_s >= _patience_s(evidence, span[-1].at_s)
            if is_long or (span[-1] is seen[-1] and lasts_s >= GIVEN_UP_S):
                peer = at[address].task
                first_s = min(one.at_s for one in seen if address in one.trying)
                reached = _reached_by(evidence, address, {task, peer}, since_s=first_s - ROUND_S)
                us = f"us and {reached[0].task}" if reached else "us"
                yield Proof(
                    facts=(span[0], span[-1], at[address].look, *reached[:1]),
                    culprit=task if reached else peer,
                    severity=None if is_long else Severity.NOTICE,  # it may heal
                    seen_at=None if reached else task,
                    confidence=Confidence.HIGH,
                    says=f"{task} gets no answer from {peer} at {address}, which answers {us}:"
                    f" {f'{task} is cut off' if reached else 'the path between them is cut'}",
                    do=_do(str(task), address),
                    exit_code=TRY_AGAIN_CODE,
                )


def _reached_by(
    evidence: Evidence, address: str, both: set[TaskId], *, since_s: float
) -> list[SocketsSeen]:
    """Looks that found another task connected to it, while the one already tried in vain."""
    return [
        seen
        for seen in evidence.of(SocketsSeen)
        if seen.task not in both and seen.at_s >= since_s and address in seen.connected
    ]


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
    """All answer us, and some of them still look for a peer, also when they are asked again.

    One lost packet makes an answer late. Over a path that is slow by itself, even the second
    silence may be no more than that.
    """
    last = {listed.task: listed for listed in evidence.of(PeersListed) if listed.task}
    blind = [
        fact
        for fact in last.values()
        if _asked_in_vain(evidence, fact) and not _looks_elsewhere(evidence, fact)
    ]
    if (
        not blind
        or len(last) < len(found)
        or (len(blind) == len(found) and not _is_whole(evidence))
    ):
        return
    lost = sorted(fact.task for fact in blind if fact.task)
    who = "one of its peers" if len(lost) == 1 else "each other, or one of their peers"
    alone = len(lost) == 1
    fast = all(_answers_fast(evidence, task) for task in lost)
    yield Proof(
        facts=(*blind, *(found[task].look for task in lost if task in found)),
        culprit=lost[0] if alone else None,
        confidence=Confidence.HIGH if alone and fast else Confidence.LIKELY,
        severity=None if fast else Severity.WARNING,
        says=f"{listed(lost)} cannot reach {who}, although every task answers us:"
        f" the path between them is cut{'' if fast else ', or only slow'}",
        do=(
            f"on the host of {lost[0]}: "
            + "; ".join(
                f"nc -vz -w 5 {' '.join(standing.look.address.rsplit(':', 1))}"
                for task, standing in list(found.items())[:4]
                if task != lost[0]
            ),
        ),
    )


def _is_whole(evidence: Evidence) -> bool:
    """Whether all tasks are known: addresses that a user names may not be all of them."""
    ran = any(evidence.of(AttemptStarted))
    return ran or any(not spec.bare for spec in evidence.of(SpecRead))


def _asked_in_vain(evidence: Evidence, last: PeersListed) -> bool:
    """Whether a task named no peers, neither at first nor when it was given more time."""
    asked = list(evidence.of(PeersListed, last.task))[-2:]
    return len(asked) > 1 and not any(fact.answered for fact in asked)


def _answers_fast(evidence: Evidence, task: TaskId) -> bool:
    """Whether the way from us to a task is good: then silence is not a matter of packets."""
    looks = (look for look in evidence.of(PathProbed) if look.target == task and is_ready(look))
    return any(look.took_s < FAST_S for look in looks)


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
    remedy=WaitAndSee(waits_s=CUT_WAITS_S),
    yields_to=frozenset({"proxy-hijack"}),
    preview=False,
)
