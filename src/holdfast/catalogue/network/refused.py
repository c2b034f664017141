"""A task's address refuses connections although the cluster is up.

## What you see
`failed to connect to all addresses; last error: … Connection refused` in the logs of others,
or nothing at all: TensorFlow tries again, silently, for ever.

## Why it happens
Nobody listens at that port: the task has not started yet, has ended, or listens elsewhere. Or
a firewall on its host rejects the connection with a reset, which looks the same from outside.

## How to confirm it by hand
`nc -vz HOST PORT` from the other host; `ss -ltn 'sport = :PORT'` on the task's own host. Refused
from outside and listening inside means a firewall.

## What to do
Start the task, or correct its address in all definitions, or open the port in the firewall.

## When this accusation would be wrong
A task that has done its work and left refuses, too. So this is a warning while nobody waits for
it, and an error only when others reach the same address at the same time. Refusing is the
kernel's, and needs no core: a starved task that listens never refuses; one that does not listen
yet is given its time by the same rule as in `never-started`.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, LogLine, PathProbed
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.named_tasks import own_call_target
from holdfast.model.path import REFUSED_AT, Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import (
    Standing,
    anybody_ready,
    is_ready,
    missing,
    standings,
    views,
)
from holdfast.model.waiting import waits_in
from holdfast.model.wording import Weight, Words

FRESH_S = 5.0  # a look this long before a refusal still says that the task was there


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _rejected(evidence)
    yield from _rejected_in_logs(evidence)
    if not anybody_ready(evidence):
        return
    awaited = {wait.awaited for wait in waits_in(evidence)}
    for task, standing in missing(evidence).items():
        if standing.look.outcome != Outcome.REFUSED or evidence.ended_by_itself(task):
            continue
        before = _answered(evidence, standing)
        if before is not None:
            yield _has_gone(standing, before, is_awaited=task in awaited)
        elif task not in awaited:
            yield Proof(
                facts=(standing.look,),
                culprit=task,
                confidence=Confidence.LIKELY,
                severity=Severity.WARNING,
                says=f"nobody listens at {standing.look.address}, where {task} should be, while"
                " others of its cluster are up",
                do=(f"start {task}; if it has finished its work, all is well",),
            )


def _answered(evidence: Evidence, standing: Standing) -> PathProbed | None:
    return next(
        (
            look
            for look in evidence.of(PathProbed)
            if look.target == standing.task
            and is_ready(look)
            and look.address == standing.look.address
        ),
        None,
    )


def _has_gone(standing: Standing, before: PathProbed, *, is_awaited: bool) -> Proof:
    """Whoever finished its work goes, too: only if others wait for it, it is missed."""
    task, address = standing.task, standing.look.address
    return Proof(
        facts=(before, standing.look),
        culprit=task,
        confidence=Confidence.HIGH,
        severity=None if is_awaited else Severity.WARNING,
        says=f"{task} answered at {address} before, and now nobody listens there: it has ended",
        do=(f"see how {task} ended: its exit code and its last lines",),
    )


def _rejected(evidence: Evidence) -> Iterator[Proof]:
    """Refused from one place, answered to another."""
    found = list(views(evidence))
    ready = {view.task: view for view in found if view.is_ready}
    for view in found:
        other = ready.get(view.task)
        if view.look.outcome == Outcome.REFUSED and other and _is_same(evidence, view, other):
            yield Proof(
                facts=(view.look, other.look),
                culprit=view.task,
                seen_at=view.look.task,
                confidence=Confidence.HIGH,
                says=f"{view.look.address} ({view.task}) refuses {_place(view)}, and answers"
                f" {_place(other)}: a firewall rejects the connection",
                do=_do(view.look.address),
            )


def _is_same(evidence: Evidence, view: Standing, other: Standing) -> bool:
    """Two looks at one address, at about the same time.

    While a run starts, who was refused first was only early.
    """
    later_s = view.look.at_s - other.look.at_s
    early_s = 0.0 if any(evidence.of(AttemptStarted)) else FRESH_S
    return (
        view.look.address == other.look.address
        and _place(view) != _place(other)
        and -early_s <= later_s <= FRESH_S
    )


def _place(view: Standing) -> str:
    return str(view.look.task or view.look.host)


def _do(address: str) -> tuple[str, ...]:
    port = address.rpartition(":")[2]
    return (
        f"on its host, see what rejects port {port}: iptables -S INPUT; nft list ruleset",
        f"open it for the other hosts: iptables -I INPUT -p tcp --dport {port} -j ACCEPT",
    )


def _rejected_in_logs(evidence: Evidence) -> Iterator[Proof]:
    """A task that says `refused` of an address at which we get an answer just then."""
    at = standings(evidence)
    for line in evidence.lines(REFUSED_AT):
        task = own_call_target(line)
        if task in at and _answers(evidence, at[task], line) and line.task:
            address = at[task].look.address
            yield Proof(
                facts=(line, at[task].look),
                culprit=task,
                seen_at=line.task,
                confidence=Confidence.HIGH,
                says=f"{address} ({task}) refuses {line.task}, and answers us:"
                " a firewall rejects the connection",
                do=_do(address),
            )


def _answers(evidence: Evidence, standing: Standing, line: LogLine) -> bool:
    said = REFUSED_AT.search(line.text)
    return (
        standing.is_ready
        and said.group(1) == standing.look.address
        and standing.look.at_s >= line.at_s - FRESH_S
        and not evidence.ended_by_itself(standing.task)
    )


WORDS = (
    # A task of the cluster that refuses: mostly it ended, or has not started yet.
    Words(
        Pattern(r"ipv[46]:\S+: (?:Failed to connect to remote host: )?.*Connection refused"),
        Weight.SYMPTOM,
        says="{who} refused the connection: {line}",
    ),
    # gRPC's own trace of the same, in JSON.
    Words(
        Pattern(
            r'"os_error":"Connection refused"[^\n]*'
            r'"target_address":"(?:ipv[46]:)?(?P<culprit>[^"]+)"'
        ),
        Weight.SYMPTOM,
        says="nobody listens at {culprit}: the connection was refused",
    ),
    Words(
        Pattern(r"failed to connect to all addresses|Failed to pick subchannel"),
        Weight.SYMPTOM,
        says="{who} could not be reached: {line}",
    ),
    Words(
        Pattern(
            r"(?:tcp://|connect(?:ing)? to |failed to connect to |Call From \S+ to )"
            r"['\"\[]*(?P<culprit>[\w.:/-]*[\w.-]+\]?:\d{2,5})\b.*"
            r"(?:Connection refused|ECONNREFUSED|ConnectionRefusedError)"
        ),
        Weight.SIGN,
        says="nobody listens at {culprit}: the connection was refused",
    ),
    Words(
        Pattern(
            r"[Cc]onnection refused|ConnectionRefusedError|ECONNREFUSED|WinError 10061"
            r"|No connection could be made because the target machine actively refused"
        ),
        Weight.SIGN,
        unless=Pattern(
            r"ipv[46]:|remote target|grpc_|8020|:9000\b|NameNode|hdfs|socket\.h:\d|NCCL"
        ),
        blames_nobody=True,
        says="a connection was refused, nobody listens there: {line}",
    ),
    Words(
        Pattern(r"RendezvousConnectionError|The connection to the C10d store has failed"),
        Weight.SIGN,
        blames_nobody=True,
        says="the rendezvous could not be reached: {line}",
    ),
)

cause = Cause(
    family="connection-refused",
    detect=detect,
    hears=(REFUSED_AT,),
    remedy=AskHuman(),
    yields_to=frozenset({"hdfs-unreachable", "never-started", "wrong-port", "stalled-at-start"}),
    words=WORDS,
    do=(
        "see whether anybody listens there: nc -vz HOST PORT",
        "start that task, or correct its address in every definition",
    ),
)
