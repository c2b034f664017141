"""The network of a host loses packets: much has to be sent again, and every step waits for it.

## What you see
Steps take two to ten times as long as before, and no longer the same time each; TensorFlow says
nothing. When half of the packets are lost, a heartbeat is missed and the job dies.

## Why it happens
A bad cable or port, a duplex mismatch, a switch whose buffers overflow, a full virtual network,
a wireless hop, a firewall that limits a rate.

## How to confirm it by hand
`nstat -az TcpOutSegs TcpRetransSegs` twice, some seconds apart: normal is one in a thousand or
less. `ss -tino` shows `retrans:` for each link, `ip -s link` and `ethtool -S` count errors.

## What to do
Find the link that loses: compare the hosts, then cables, ports and switches between them. Leave
the host out meanwhile.

## When this accusation would be wrong
The counters are those of the whole host: another program with a bad link of its own may have sent
again what is counted here. A cut between two tasks is told as `partition` instead. A starved
receiver makes its peer send again, too: so nothing is said of tasks on one machine, and it is a
warning, never an error.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.link_cuts import cuts
from holdfast.model.lost_hosts import addresses_of, hosts_of
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import HostSampled, LinkSeen
from holdfast.model.words import seconds_text

SEEN_S = 20.0
SEGMENTS_MIN = 200
SHARE_MIN = 0.02


def detect(evidence: Evidence) -> Iterator[Proof]:
    on_one_machine = addresses_of(evidence) and not hosts_of(evidence)
    if on_one_machine or any(cut.sure for cut in cuts(evidence)):
        return  # Within a machine nothing is lost: a starved receiver makes its peer repeat itself.
    by_host: dict[str, list[HostSampled]] = {}
    for sample in evidence.of(HostSampled):
        by_host.setdefault(sample.host, []).append(sample)
    for host, samples in by_host.items():
        worst = max(_windows(samples), key=_share, default=[])
        if worst and _share(worst) >= SHARE_MIN:
            yield _proof(evidence, host, worst)


def _windows(samples: list[HostSampled]) -> Iterator[list[HostSampled]]:
    """Every row of samples that is just long enough, with enough segments to count."""
    for start in range(len(samples)):
        window: list[HostSampled] = []
        for sample in samples[start:]:
            window.append(sample)
            if sum(one.over_s for one in window) >= SEEN_S:
                if sum(one.segments_sent for one in window) >= SEGMENTS_MIN:
                    yield window
                break


def _share(window: list[HostSampled]) -> float:
    again = sum(one.segments_again for one in window)
    return again / max(1, sum(one.segments_sent for one in window))


def _proof(evidence: Evidence, host: str, window: list[HostSampled]) -> Proof:
    links = [fact for fact in evidence.of(LinkSeen) if fact.host == host and _lost_something(fact)]
    culprit = _shared(links)
    sent = sum(one.segments_sent for one in window)
    over_s = sum(one.over_s for one in window)
    where = f", on the links of {culprit}" if culprit else ""
    return Proof(
        facts=(window[0], window[-1], *links[-1:]),
        culprit=culprit,
        confidence=Confidence.HIGH,
        says=f"packets are lost on {host}: {_share(window):.1%} of {sent} TCP segments in"
        f" {seconds_text(over_s)} had to be sent again{where}",
        do=(
            f"on {host}: nstat -az TcpOutSegs TcpRetransSegs; ip -s link",
            f"on {host}: ss -tino shows `retrans:` for each link: compare the hosts at their ends",
        ),
    )


def _lost_something(link: LinkSeen) -> bool:
    return bool(link.retransmits or link.recovered_here)


def _shared(links: list[LinkSeen]) -> TaskId | None:
    """The one task that is at one end of every link that loses, of at least two pairs."""
    pairs = {frozenset({link.task, link.peer}) for link in links}
    shared = frozenset.intersection(*pairs) if len(pairs) > 1 else frozenset()
    return next(iter(shared), None)


cause = Cause(
    family="network-unreachable",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)
