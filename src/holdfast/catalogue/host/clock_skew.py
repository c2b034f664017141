"""The clocks of two hosts differ.

## What you see
Kerberos and TLS refuse tickets and certificates that are valid, the newest checkpoint is not
the last one, and the logs of two hosts cannot be put in order.

## Why it happens
Nobody keeps a host's clock right (no chrony, ntpd or systemd-timesyncd), its time server
cannot be reached, or a virtual machine was paused.

## How to confirm it by hand
`date +%s.%N; ssh HOST date +%s.%N`, and `timedatectl` or `chronyc tracking` on each.

## What to do
Start a time service: `systemctl enable --now chronyd` (or systemd-timesyncd), and step the
clock once with `chronyc makestep`.

## When this accusation would be wrong
When the hosts compared themselves with different file servers that have one name. A clock
that no service keeps may still be right: that alone is only worth knowing.
"""

from collections.abc import Iterator, Sequence

from holdfast.model.begun import only_task_of
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import ClockMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

TOLERATED_S = 2.0
GRAVE_S = 30.0
HOSTS_SAID_MAX = 3


def detect(evidence: Evidence) -> Iterator[Proof]:
    last = {(fact.host, fact.against): fact for fact in evidence.of(ClockMeasured)}
    found = False
    for against in dict.fromkeys(fact.against for fact in last.values() if fact.against):
        clocks = [fact for fact in last.values() if fact.against == against]
        for proof in _skew(evidence, sorted(clocks, key=lambda fact: (fact.offset_s, fact.host))):
            found = True
            yield proof
    if not found:
        yield from _unkept([fact for fact in last.values() if fact.synchronised is False])


def _skew(evidence: Evidence, clocks: Sequence[ClockMeasured]) -> Iterator[Proof]:
    """Who differs from the median, if most agree with it; else only that they differ."""
    middle = clocks[len(clocks) // 2]
    odd = [clock for clock in clocks if _differ(clock, middle)]
    if odd and len(odd) * 2 < len(clocks):
        for clock in odd:
            yield _proof(clock, middle, only_task_of(evidence, clock.host) or clock.task)
    elif _differ(clocks[-1], clocks[0]):
        yield _proof(clocks[-1], clocks[0], None)


def _differ(one: ClockMeasured, other: ClockMeasured) -> bool:
    apart_s = abs(one.offset_s - other.offset_s)
    return one.host != other.host and apart_s > TOLERATED_S + one.error_s + other.error_s


def _proof(clock: ClockMeasured, other: ClockMeasured, culprit: TaskId | None) -> Proof:
    apart_s = clock.offset_s - other.offset_s
    way = "ahead of" if apart_s > 0 else "behind"
    return Proof(
        facts=(clock, other),
        culprit=culprit,
        confidence=Confidence.CERTAIN,
        severity=Severity.ERROR if abs(apart_s) > GRAVE_S else Severity.WARNING,
        says=(
            f"the clock of {clock.host} is {abs(apart_s):.1f} s {way} that of {other.host},"
            f" both measured against {clock.against}"
        ),
        do=(
            "see both: date +%s.%N; chronyc tracking",
            "let a service keep them: systemctl enable --now chronyd; chronyc makestep",
        ),
    )


def _unkept(clocks: Sequence[ClockMeasured]) -> Iterator[Proof]:
    hosts = list(dict.fromkeys(clock.host for clock in clocks))
    if not hosts:
        return
    more = f" and {len(hosts) - HOSTS_SAID_MAX} more" if len(hosts) > HOSTS_SAID_MAX else ""
    yield Proof(
        facts=tuple(clocks[:HOSTS_SAID_MAX]),
        culprit=None,
        severity=Severity.INFO,
        says=(
            f"no time service keeps the clock of {', '.join(hosts[:HOSTS_SAID_MAX])}{more},"
            " says the kernel there: it may drift"
        ),
        do=("start one: systemctl enable --now chronyd",),
    )


cause = Cause(
    family="auth-permission",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)
