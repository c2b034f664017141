"""The host name in a task's address means nothing where it is needed.

## What you see
`errors resolving …`, `Domain name not found`, `Address lookup failed` in a MultiWorkerMirrored
worker at the first step; when it is the leader's name, or under a ParameterServerStrategy,
nothing at all: everybody waits.

## Why it happens
A typo; a name that only some hosts know (/etc/hosts, a search domain, a Kubernetes service of
another namespace); a service whose pod is not there yet; a resolver that is down.

## How to confirm it by hand
`getent ahosts NAME` on the host of a task that waits.

## What to do
Correct the name, use the full name or the IP address, or repair the resolver.

## When this accusation would be wrong
When the name resolves on the hosts of the tasks, but not where we look from: run the check there.
A resolver that did not answer may have lost a packet, and the name may be right: then the finding
says `likely`. A name that is resolved later, as a Kubernetes service is, is not accused in a run
before it has failed for some seconds. A resolver that is silent may be starved itself: in a run
that must last for half a minute, without the time in which our own looks came late.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, PathProbed
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.named_tasks import call_targets, tasks_in
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import Standing, lasted_s, views
from holdfast.model.wording import Words

UNKNOWN_NAME = Pattern(
    r"errors resolving ([^ :]+)|Domain name not found|Address lookup failed for ([^ :]+)"
    r"|Temporary failure in name resolution|Name or service not known"
)
NO_ANSWER = Pattern(r"Temporary failure|the resolver gave no answer")
LASTING_S, SILENT_S = 4.0, 30.0
WORDS_MAX = 100


def detect(evidence: Evidence) -> Iterator[Proof]:
    accused = set()
    for view in views(evidence):
        if view.look.outcome == Outcome.UNRESOLVED and _lasts(evidence, view):
            if view.task not in accused:
                yield _looked_up(view)
            accused.add(view.task)
    for line in evidence.lines(UNKNOWN_NAME):
        found = UNKNOWN_NAME.search(line.text)
        name = found.group(1) or found.group(2) or ""
        task = next(iter((*call_targets(line), *tasks_in(line.text))), None)
        failure = evidence.failure_of(line.task)
        if task in accused or failure is None or task is None:
            continue
        accused.add(task)
        yield Proof(
            facts=(line, failure),
            culprit=task,
            seen_at=line.task if line.task != task else None,
            confidence=(Confidence.LIKELY if NO_ANSWER.search(line.text) else Confidence.HIGH),
            says=f"{line.task} cannot resolve the name of {task}{f': {name}' if name else ''}",
            do=_do(name or "NAME", task),
        )


def _lasts(evidence: Evidence, view: Standing) -> bool:
    """A resolver that says no is believed soon; one that is silent may only want a core."""
    in_a_run = any(evidence.of(AttemptStarted))
    needed_s = SILENT_S if NO_ANSWER.search(view.look.says) else LASTING_S
    return not in_a_run or lasted_s(evidence, view) >= needed_s


def _looked_up(view: Standing) -> Proof:
    look: PathProbed = view.look
    name = look.address.rpartition(":")[0]
    said = " ".join(look.says.split())[:WORDS_MAX]
    return Proof(
        facts=(look,),
        culprit=view.task,
        confidence=Confidence.LIKELY if NO_ANSWER.search(look.says) else Confidence.CERTAIN,
        says=f"the name {name} of {view.task} ({look.address}) does not resolve on {look.host}"
        + (f": {said}" if said else ""),
        do=_do(name, view.task),
    )


def _do(name: str, task: object) -> tuple[str, ...]:
    return (
        f"getent ahosts {name}",
        f"correct the address of {task} in every TF_CONFIG: the full name, or the IP address",
    )


WORDS = (
    Words(
        Pattern(
            r"(?:errors resolving |Address lookup failed for |[Cc]ould not resolve host(?:name)?:? "
            r"|UnknownHostException: |DNS resolution failed for (?:service: )?|lookup "
            r"|getaddrinfo\(|network addresses of \(|failed to resolve (?:host|hostname|address) )"
            r"['\"]?(?P<culprit>[\w.:-]*[\w-])"
            r".*(?:not known|not found|name resolution|no such host|Unknown host|not resolve"
            r"|resolution failed|status|errno|lookup failed|resolving|UnknownHost)"
            r"|[Uu]nable to find address for: (?P<host>[\w.:-]*[\w-])"
        ),
        says="the name {culprit} cannot be resolved: {line}",
    ),
    Words(
        Pattern(
            r"Temporary failure in name resolution|Name or service not known"
            r"|nodename nor servname provided|getaddrinfo failed|Domain name not found"
            r"|DNS resolution failed|Could not resolve host|UnknownHostException"
            r"|No address associated with hostname|NameResolutionError|DNS SRV lookup failed"
            r"|(?:res_nsearch|gethostbyname|getaddrinfo)\b[^\n]{0,60}(?:Unknown host|ENOTFOUND"
            r"|EAI_AGAIN|EAI_NONAME|failed)|[Uu]nable to resolve (?:host|\"|')|: Unknown host$"
            r"|Could not contact DNS servers|NXDOMAIN|Name does not resolve|No such host is known"
            r"|dial tcp: lookup [^\n]*no such host|[Uu]nknown host: |DNS lookup failed"
            r"|[Nn]ame resolution failure|C-ares status is not ARES_SUCCESS|errors resolving "
        ),
        blames_nobody=True,
        says="a host name cannot be resolved: {line}",
    ),
)

cause = Cause(
    family="dns-failure",
    detect=detect,
    hears=(UNKNOWN_NAME,),
    remedy=AskHuman(),
    words=WORDS,
    where=(Pattern(r"TCPStore\((?P<culprit>master_addr)\b"),),
    do=(
        "ask the resolver on the host of the task: getent hosts NAME",
        "correct the name in every definition, add it to DNS or /etc/hosts, or write an IP address",
    ),
)
