"""A host with its tasks is out of everybody's reach, all at once.

## What you see
Every task of one host goes silent in the same second. MultiWorkerMirroredStrategy says after
some 10 s that one of them has crashed; with parameter servers nobody says anything for 15
minutes.

## Why it happens
The machine lost its power, its kernel crashed, it was taken away by its provider, or its cable
or its switch port failed.

## How to confirm it by hand
`ping HOST`; `ssh HOST uptime`; its console, or the page of its provider.

## What to do
Replace the host, or bring it back, and start the job again from its last checkpoint. A job
that shall survive this writes its checkpoints elsewhere.

## When this accusation would be wrong
A network that is cut looks the same from outside: its tasks may live on, and find that all the
others are lost. Of two halves of a cluster, the one without the first task is called lost. A host
with a single task is only `likely`: a firewall can answer in its name. A starved host still
acknowledges and refuses, because its kernel does; the rest is as in `partition` and `filtered`:
time without a core, theirs or ours, does not count.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import PathProbed
from holdfast.model.findings import TRY_AGAIN_CODE, Cause, Confidence, Proof
from holdfast.model.link_cuts import Cut, cuts
from holdfast.model.lost_hosts import hosts_of, lost_hosts, silent_hosts
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import ReplaceHost
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text


def detect(evidence: Evidence) -> Iterator[Proof]:
    lost = lost_hosts(evidence, cuts(evidence))
    for host, across in lost.items():
        yield _by_links(evidence, host, across)
    for host, looks in silent_hosts(evidence).items():
        if host not in lost:
            yield _by_looks(host, looks)


def _by_links(evidence: Evidence, host: str, across: list[Cut]) -> Proof:
    hosts = hosts_of(evidence)
    tasks = sorted({task for cut in across for task in cut.pair if hosts[task] == host})
    others = sorted({task for cut in across for task in cut.pair} - set(tasks))
    last = max(across, key=lambda cut: (cut.sure, cut.last.retransmits)).last
    return Proof(
        facts=tuple(cut.last for cut in across),
        culprit=tasks[0],
        confidence=Confidence.HIGH,
        says=f"the host {host} is lost, with {listed(tasks)}: none of its tasks acknowledges what"
        f" {listed(others)} send, for {seconds_text(last.lasting_s)} now",
        do=_do(host, tasks),
        exit_code=TRY_AGAIN_CODE,
    )


def _by_looks(host: str, looks: list[PathProbed]) -> Proof:
    tasks = sorted(look.target for look in looks if look.target)
    alone = len(tasks) == 1
    return Proof(
        facts=tuple(looks),
        culprit=tasks[0],
        confidence=Confidence.LIKELY if alone else Confidence.HIGH,
        says=f"the host {host} is lost, with {listed(tasks)}: they answered before, and now"
        f" nothing there does, seen from {looks[0].host}",
        do=_do(host, tasks),
        exit_code=TRY_AGAIN_CODE,
    )


def _do(host: str, tasks: list[TaskId]) -> tuple[str, ...]:
    return (
        f"ping -c 3 {host}; see its console, or ask its provider",
        f"move {listed(tasks)} to another host, and start again from the last checkpoint",
    )


WORDS = (
    Words(
        Pattern(r"Nodes? (?P<culprit>[\w.,\[\]-]+) not responding(?:, setting DOWN)?\b"),
        Weight.SIGN,
        says="the host {culprit} no longer answers its scheduler: {line}",
    ),
    Words(
        Pattern(r"(?:[Nn]ode failure on|NODE_FAIL.{0,40}? on) (?P<culprit>[\w.-]*\w)"),
        says="the host {culprit} is gone: {line}",
    ),
    Words(
        Pattern(r"JOB \d+ ON (?P<culprit>[\w.-]+) CANCELLED AT \S+ DUE TO NODE FAILURE"),
        says="the host {culprit} failed, and the scheduler ended the job",
    ),
    Words(
        Pattern(
            r"update_node: node (?P<culprit>[\w.,\[\]-]+) reason set to: [^\n]*"
            r"(?:health ?check|[Nn]ot responding|rebooted|unreachable|[Ll]ost|backing instance)"
        ),
        Weight.SIGN,
        says="the scheduler took {culprit} out, it does not answer as it should: {line}",
    ),
    Words(
        Pattern(r"[Nn]ode (?P<culprit>[\w.-]+) (?:has |was )?unexpectedly rebooted"),
        Weight.SIGN,
        says="the host {culprit} restarted by itself: {line}",
    ),
    Words(
        Pattern(
            r"Node unexpectedly rebooted|Reason: (?:Slave|Worker|Node|Host) lost|SlaveLost"
            r"|has been marked dead because|ExecutorLostFailure[^\n]*(?:lost|heartbeat)"
            r"|node(?:\.kubernetes\.io)?/(?:unreachable|not-ready)"
            r"|Kubelet stopped posting node status"
            r"|[Ii]nstance\b[^\n]{0,60}(?:status check failed|impaired|hardware failure)"
            r"|[Hh]ost (?:error|maintenance) event|compute\.instances\.hostError"
        ),
        Weight.SIGN,
        unless=Pattern(r"node with (?:node id|client ID)[^\n]*(?:ip|address): "),
        blames_nobody=True,
        says="a host is gone: {line}",
    ),
    # Ray's own watch; it may err where a host is only very busy.
    Words(
        Pattern(
            r"node with (?:node id|client ID)\S* \S+"
            r" (?:and (?:ip|address): (?P<culprit>[\w.:-]*\w) [^\n]{0,80})?has been"
            r" marked dead because"
        ),
        Weight.SIGN,
        says="the host {who} was given up, it no longer answers: {line}",
    ),
    Words(
        Pattern(
            r"because its node has died|NodeDiedError|node \w+ (?:has )?died unexpectedly"
            r"|job preempted \(node failure\)|Server could not connect to MOM"
            r"|Container released on a \*lost\* node|TERM_EXEC_HOST\w*|[Ee]xecution host \S+ (?:is"
            r" )?(?:down|unreachable)|Lost executor \d+ on \S+: (?:[Ww]orker|[Ss]lave) lost"
            r"|Removing executor \d+ with no recent heartbeats|[Uu]nreachable execution host"
            r"|lost connection to proxy|Health check failed due to missing too many heartbeats"
        ),
        Weight.SIGN,
        blames_nobody=True,
        says="a host is gone: {line}",
    ),
    # The network to it or the launcher's own process there may have failed as well.
    Words(
        Pattern(
            r"(?:ORTE|PRTE) has lost communication with (?:a remote|its) daemon"
            r"|ORTE daemon has unexpectedly failed"
        ),
        Weight.SIGN,
        blames_nobody=True,
        says="a host is gone, or its launcher there: {line}",
    ),
    Words(
        Pattern(
            r"NODE_FAIL\b|DUE TO NODE FAILURE"
            r"|NodeLost|node\.kubernetes\.io/unreachable|NodeNotReady"
        ),
        blames_nobody=True,
        says="a host is gone: {line}",
    ),
)

cause = Cause(
    family="host-lost",
    detect=detect,
    remedy=ReplaceHost(),
    preview=False,
    words=WORDS,
    where=(
        Pattern(
            r"(?:Remote daemon|Compute node) *: \[\[\d+,\d+\],\d+\] on node (?P<culprit>[\w.-]+)"
        ),
        Pattern(r"^\s+hostname: +(?P<culprit>[\w.-]+)$"),
        Pattern(r"^Exec host: +(?P<culprit>[\w.-]+)"),
    ),
    do=(
        "ping it, and look at its console: did it restart?",
        "exclude the host and start again from the last checkpoint: sbatch --exclude=HOST",
    ),
)
