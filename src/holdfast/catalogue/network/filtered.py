"""Connections to a task's address get no answer at all.

## What you see
The others wait, without a word, and no error comes: a connection attempt is given up only
after many seconds, and tried again. `connect() timed out` at best.

## Why it happens
A firewall or a security group drops the packets, the host is down or on another network, the
address is an internal one of a container that others cannot reach.

## How to confirm it by hand
`nc -vz -w 5 HOST PORT` hangs until its time-out; `tcpdump` on the task's host shows whether the
requests arrive.

## What to do
Open the port between the hosts of the cluster, in both directions; use an address that the
other hosts can reach.

## When this accusation would be wrong
When the loss is only on the way from where we look: another place may reach it. Where somebody
else gets an answer, the finding is `partition` instead. On a bad line a connection may lose all of
its packets: after a single look it is only `likely`. In a run a short cut is waited for. That
packets arrive needs none of the task's cores: a starved task is not silent in this way. Time in
which our own looks came late does not count.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import TRY_AGAIN_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.lost_hosts import silent_hosts
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import (
    CUT,
    GIVEN_UP_S,
    Standing,
    lasted_s,
    missing,
    standings,
    views,
)
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.wording import Weight, Words


def detect(evidence: Evidence) -> Iterator[Proof]:
    reached = {view.task for view in views(evidence) if view.is_ready}
    lost = {look.target for looks in silent_hosts(evidence).values() for look in looks}
    gone = missing(evidence)
    for task, standing in standings(evidence).items():
        if standing.look.outcome not in CUT or task in reached | lost:
            continue
        if task in gone:
            yield _proof(evidence, standing, None)
        elif _may_heal(evidence, standing):
            yield _proof(evidence, standing, Severity.NOTICE)


def _may_heal(evidence: Evidence, standing: Standing) -> bool:
    """Whether a start is held up by it now: short cuts of the network are survived."""
    trained = any(step.step > 0 for step in evidence.of(StepsSeen, standing.task))
    is_over = trained or any(evidence.failures()) or evidence.exit_of(standing.task) is not None
    return not is_over and lasted_s(evidence, standing) >= GIVEN_UP_S


def _proof(evidence: Evidence, standing: Standing, severity: Severity | None) -> Proof:
    task, look = standing.task, standing.look
    host, _, port = look.address.rpartition(":")
    alone = not any(
        view.look.address.rpartition(":")[0] == host and view.look.outcome not in CUT
        for view in views(evidence)
    )
    silent = look.outcome == Outcome.FILTERED
    what, does = ("no answer at all from", "drops") if silent else ("no way to", "rejects")
    why = f"the host is down, or a firewall {does} the packets"
    if not alone:
        why = f"the host is there, so a firewall {does} port {port}"
    return Proof(
        facts=(look,),
        culprit=task,
        confidence=Confidence.HIGH if standing.seen_twice else Confidence.LIKELY,
        severity=severity,
        says=f"{what} {look.address} ({task}), seen from {look.host}: {why}",
        do=(
            f"ping {host}; nc -vz -w 5 {host} {port}",
            (
                f"open port {port} on the host of {task} for the others: iptables -I INPUT -p tcp"
                f" --dport {port} -j ACCEPT"
            ),
        ),
        exit_code=TRY_AGAIN_CODE,
    )


WORDS = (
    # PyTorch's rendezvous: it has tried all addresses of a name, none led anywhere.
    Words(
        Pattern(
            r"(?:failed to connect to any network address of|while trying to connect to)"
            r" \((?P<culprit>[^,()]+), \d+\)"
        ),
        says="no address of {culprit} could be reached: {line}",
    ),
    Words(
        Pattern(
            r"(?:client socket has failed to connect to|[Ff]ailed to connect to|connect(?:ing)? to"
            r"|dial tcp) ?['\"]?(?P<culprit>\[?[\w.:-]*[\w.]\]?:\d{2,5})\b"
            r".*(?:[Cc]onnection timed out|ETIMEDOUT|i/o timeout|No route to host|EHOSTUNREACH"
            r"|Network is unreachable|ENETUNREACH|timed out|timeout occurred)"
        ),
        says="no way leads to {culprit}: {line}",
    ),
    Words(
        Pattern(
            r"[Nn]o route to host|[Nn]etwork is unreachable|EHOSTUNREACH|ENETUNREACH|NoRouteToHost"
            r"|[Hh]ost (?:is )?(?:down|unreachable)|Destination \w+ Unreachable"
            r"|was unable to complete a TCP connection"
            r"|unable to connect to .{1,60} on any of the interfaces"
        ),
        unless=Pattern(r"remote target|\[::1?\]|ipv6|IPv6|NCCL (?:WARN|INFO)"),
        blames_nobody=True,
        says="the network knows no way to a peer: {line}",
    ),
    # gloo, and Windows.
    Words(
        Pattern(r"[Cc]onnect timeout \[(?P<culprit>[0-9a-fA-F.:]+)\]:\d+"),
        says="no way leads to {culprit}: {line}",
    ),
    Words(
        Pattern(
            r"WinError 100(?:51|60|65)\b|A connection attempt failed because the connected party"
            r"|rdma_resolve_(?:addr|route) failed|TLS handshake timeout"
            r"|Unable to connect to (?:the )?(?:remote|peer|node|host)\b[^\n]{0,80}tim(?:ed "
            r"|e)-?out"
        ),
        Weight.SIGN,
        blames_nobody=True,
        says="connections get no answer: {line}",
    ),
    Words(
        Pattern(
            r"recvmsg:\s*Connection timed out|connect\(\) timed out|No route to host"
            r"|Network is unreachable|Failed to connect to remote host: (?:Timeout|FD shutdown)"
        ),
        Weight.SYMPTOM,
        says="{who} could not be reached over the network: {line}",
    ),
    Words(
        Pattern(
            r"[Cc]onnection timed out|ETIMEDOUT|ConnectTimeout|[Cc]onnect(?:ion)? timed out"
            r"|Timed out trying to connect to|client socket has timed out after"
            r"|[Kk]eepalive watchdog timeout|[Kk]eepalive ping timeout"
            r"|Failed to establish a new connection: \[Errno 1(?:01|10|13)\]"
        ),
        Weight.SIGN,
        unless=Pattern(r"recvmsg|remote target|refused|NCCL (?:WARN|INFO)"),
        blames_nobody=True,
        says="connections get no answer: {line}",
    ),
)

cause = Cause(
    family="network-unreachable",
    detect=detect,
    remedy=AskHuman(),
    yields_to=frozenset({"hdfs-unreachable", "partition"}),
    words=WORDS,
    where=(Pattern(r"^\s+Remote host: +(?P<culprit>[\w.-]+)"),),
    do=(
        "look from both hosts: nc -vz HOST PORT; ip route get ADDRESS",
        "open the port in the firewalls between them, or choose the right interface and address",
    ),
)
