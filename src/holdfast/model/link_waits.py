"""Who waits for whom, by the queues of their connections."""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.wait import Wait
from holdfast.model.watch_facts import LinkSeen
from holdfast.model.words import seconds_text

REPEATED_S = 15.0  # a link that does not flow is told every 5 s; later than this it is over


def link_waits(evidence: Evidence) -> Iterator[Wait]:
    """Whoever sent what nobody acknowledges or reads waits for the receiver, while it lasts."""
    last = {
        (fact.task, fact.peer, fact.address): fact
        for fact in evidence.of(LinkSeen)
        if fact.at_s <= evidence.ending_s()
    }
    now_s = min(evidence.facts[-1].at_s if evidence.facts else 0.0, evidence.ending_s())
    for fact in last.values():
        if fact.task is None or now_s - fact.at_s > REPEATED_S:
            continue
        lasting = seconds_text(fact.lasting_s)
        if fact.send_bytes:
            why = f"{fact.send_bytes} bytes are not acknowledged for {lasting}"
            yield Wait(waiter=fact.task, awaited=fact.peer, why=why, fact=fact)
        if fact.recv_bytes:
            why = f"{fact.recv_bytes} bytes that it sent are not read for {lasting}"
            yield Wait(waiter=fact.peer, awaited=fact.task, why=why, fact=fact)
