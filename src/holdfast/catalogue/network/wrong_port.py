"""A task listens at one port, and the others look for it at another.

## What you see
The others wait as for a task that was never started, although it runs and listens. A
MultiWorkerMirroredStrategy passes its start and dies at the first all-reduce, with
`Connection refused` and the name of the innocent task.

## Why it happens
The address in the definition and the port of the server were set in two places: an old
TF_CONFIG, a script that counts ports itself, a port that was changed because it was taken, a
`ClusterSpec` in the program of one task that is not the one in its TF_CONFIG.

## How to confirm it by hand
The log of the task says `Started server with target: grpc://…:PORT`; compare it with its entry
in the TF_CONFIG of the others.

## What to do
Write the same address into all definitions, the one at which the task listens.

## When this accusation would be wrong
When another cluster on the same host uses the same task names on a neighbouring port. The finding
names the address at which the task answered: look whose it is. What stands in a program's variables
alone is a warning: it may be the address of something else. A starved task that has not opened
its port yet is given its time as in `never-started`.
"""

from collections.abc import Iterator, Mapping

from holdfast.model.activity_facts import AddressesHeld
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Fact,
    LogLine,
    PathProbed,
    SocketsSeen,
    StartBlocked,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.named_tasks import own_call_target, tasks_in
from holdfast.model.path import REFUSED_AT, Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import CUT, Standing, is_ready, missing, standings
from holdfast.model.start_calls import StandsAtStart, StartCall, standing_at_start
from holdfast.model.waiting import STILL_WAITING, waits_in
from holdfast.model.words import listed

# Whoever has tried in vain waits longer before each new try, and 15 s at the most: within this a
# peer that answers is found.
FOUND_S, FOUND_S_MIN = 15.0, 6.0
LEADERS = ("ps", "chief", "worker")  # whom TensorFlow makes the leader, the first there is


def detect(evidence: Evidence) -> Iterator[Proof]:
    for standing in missing(evidence).values():
        if standing.look.outcome != Outcome.REFUSED:
            continue
        found = _elsewhere(evidence, standing)
        if found is not None:
            yield _answers(evidence, standing, found)
        else:
            yield from _listens(evidence, standing)
    yield from _said(evidence)
    yield from _in_its_own_program(evidence)


def _elsewhere(evidence: Evidence, standing: Standing) -> PathProbed | None:
    return next(
        (
            look
            for look in evidence.of(PathProbed)
            if look.target == standing.task
            and is_ready(look)
            and look.address != standing.look.address
        ),
        None,
    )


def _answers(evidence: Evidence, standing: Standing, found: PathProbed) -> Proof:
    task = standing.task
    waiting = [wait.waiter for wait in waits_in(evidence) if wait.awaited == task]
    who = listed(waiting) if waiting else "the definition"
    looks = "looks" if len(waiting) <= 1 else "look"
    return Proof(
        facts=(standing.look, found),
        culprit=task,
        confidence=Confidence.HIGH,
        says=f"{task} answers at {found.address}, but {who} {looks} for it at"
        f" {standing.look.address}, where nobody listens",
        do=(
            (
                f"write {found.address} for {task} into every TF_CONFIG, or let it listen at"
                f" {standing.look.address}"
            ),
        ),
        exit_code=HUNG_CODE,
    )


def _listens(evidence: Evidence, standing: Standing) -> Iterator[Proof]:
    """At the deadline its processes listen, but not where they should."""
    task, address = standing.task, standing.look.address
    seen = max(evidence.of(SocketsSeen, task), key=lambda fact: fact.at_s, default=None)
    blocked = next(evidence.of(StartBlocked), None)
    if seen is None or blocked is None or not seen.listening:
        return
    if int(address.rpartition(":")[2]) not in seen.listening:
        ports = listed(seen.listening)
        yield Proof(
            facts=(standing.look, seen, blocked),
            culprit=task,
            confidence=Confidence.LIKELY,
            says=f"{task} listens on port {ports}, but should at {address},"
            f" where {listed(blocked.waiting)} look for it",
            do=(f"let it use the port that its TF_CONFIG gives it: {address}",),
            exit_code=HUNG_CODE,
        )


def _said(evidence: Evidence) -> Iterator[Proof]:
    """A task that is refused at an address which is not the one of whom it looks for."""
    at = standings(evidence)
    told = set()
    for said, text in (
        *((line, line.text) for line in evidence.of(LogLine)),
        *((seen, seen.message) for seen in evidence.of(TracebackSeen)),
    ):
        task = own_call_target(said)
        found = REFUSED_AT.search(text)
        if not found or task not in at or said.task in {None, task}:
            continue
        tried, right = found.group(1), at[task].look.address
        is_new = (said.task, task, tried) not in told
        if is_new and _came_up(evidence, task) and not _is_same(tried, right):
            told.add((said.task, task, tried))
            yield Proof(
                facts=(said, at[task].look),
                culprit=said.task,
                confidence=Confidence.HIGH,
                says=f"{said.task} looks for {task} at {tried}, but it listens at {right}",
                do=(f"write {right} for {task} into the TF_CONFIG of {said.task}",),
            )


def _in_its_own_program(evidence: Evidence) -> Iterator[Proof]:
    """Its start is overdue for one that answers all others: it looks for it elsewhere."""
    at = standings(evidence)
    for one in standing_at_start(evidence):
        task, host = one.task, one.look.host
        # From another host, the path between the two may be to blame.
        near = {
            peer: standing
            for peer, standing in at.items()
            if peer != task and standing.is_ready and standing.look.host == host
        }
        # Whom nobody can reach is cut off: it cannot find the others wherever it looks.
        is_cut = task in at and at[task].look.outcome in CUT
        sought = {} if is_cut else _sought(evidence, one, near)
        likely = {} if is_cut or sought else _by_variables(evidence, one, near)
        for peer, fact in (*sought.items(), *likely.items()):
            address = near[peer].look.address
            other = _other_address(evidence, task, address)
            yield Proof(
                facts=(near[peer].look, one.look, fact),
                culprit=task,
                confidence=Confidence.HIGH,
                severity=Severity.WARNING if peer in likely else None,
                says=f"{task} still waits {one.where} for {peer}, which answers at {address}: its"
                f" program has another address for it than the definition{other}",
                do=(
                    f"compare its ClusterSpec in the code with TF_CONFIG: {peer} is at {address}",
                    "let the program take its cluster from TF_CONFIG: TFConfigClusterResolver()",
                ),
                exit_code=HUNG_CODE,
            )


def _other_address(evidence: Evidence, task: TaskId, right: str) -> str:
    """The one in the program's variables that is nobody's and on the same host, if it is one."""
    host = right.rpartition(":")[0]
    strange = [
        address
        for address in _held(evidence, task) - _members(evidence)
        if address.rpartition(":")[0] == host
    ]
    return f", {strange[0]}" if len(strange) == 1 else ""


def _held(evidence: Evidence, task: TaskId) -> set[str]:
    return {one for fact in evidence.of(AddressesHeld, task) for one in fact.addresses}


def _members(evidence: Evidence) -> set[str]:
    """The addresses of all tasks, as the definition has them."""
    started = {fact.address for fact in evidence.of(TaskStarted)}
    return started | {standing.look.address for standing in standings(evidence).values()}


def _by_variables(
    evidence: Evidence, one: StandsAtStart, near: Mapping[TaskId, Standing]
) -> dict[TaskId, Fact]:
    """Its program has all members but one, and one that is nobody's: likely instead of it."""
    lacks = _members(evidence) - _held(evidence, one.task)
    found = [peer for peer, standing in near.items() if lacks == {standing.look.address}]
    if one.call is StartCall.AWAITS_CHIEF or not found:
        return {}
    standing = near[found[0]]
    lasting = one.now_s - standing.since_s >= _found_s(evidence, one.task, standing)
    if not lasting or not _other_address(evidence, one.task, standing.look.address):
        return {}
    return {found[0]: next(evidence.of(AddressesHeld, one.task))}


def _sought(
    evidence: Evidence, one: StandsAtStart, near: Mapping[TaskId, Standing]
) -> dict[TaskId, Fact]:
    """Whom it does not find, and the fact that shows it: its log, else its sockets."""
    if one.call is StartCall.OPENS_SESSION:
        return {
            peer: line
            for line in evidence.lines(STILL_WAITING, one.task)
            for peer in tasks_in(line.text)
            if peer in near
            and _answered_all_the_time(evidence, near[peer], line)
            and (one.overdue or _never_connects(evidence, one.task, near[peer]))
        }
    if not one.overdue:
        return {}
    leader = next(task for role in LEADERS for task in evidence.tasks if task.role == role)
    needed = {leader} if one.call is StartCall.JOINS else near.keys()
    seen = max(evidence.of(SocketsSeen, one.task), key=lambda fact: fact.at_s, default=None)
    if seen is None or one.call is StartCall.AWAITS_CHIEF:
        return {}
    open_to = {*seen.connected, *seen.trying}
    return {
        peer: seen
        for peer, standing in near.items()
        if peer in needed
        and seen.at_s - standing.since_s >= FOUND_S
        and not open_to.intersection(_addresses(standing.look))
    }


def _answered_all_the_time(evidence: Evidence, standing: Standing, line: LogLine) -> bool:
    """Whether it had been there for long when the other one still waited for it."""
    exited = evidence.exit_of(standing.task)
    there = exited is None or exited.at_s > line.at_s
    return there and line.at_s - standing.since_s >= _found_s(evidence, line.task, standing)


def _found_s(evidence: Evidence, task: TaskId | None, standing: Standing) -> float:
    """How long a peer must have answered: whoever was up before it has longer pauses by then."""
    own = next((at for peer, at in standings(evidence).items() if peer == task), standing)
    return min(FOUND_S, FOUND_S_MIN + max(0.0, standing.since_s - own.since_s))


def _never_connects(evidence: Evidence, task: TaskId, standing: Standing) -> bool:
    """Whether none of its sockets leads to where the peer answers, long after that did."""
    seen = max(evidence.of(SocketsSeen, task), key=lambda fact: fact.at_s, default=None)
    if seen is None or seen.at_s - standing.since_s < _found_s(evidence, task, standing):
        return False
    return not {*seen.connected, *seen.trying} & _addresses(standing.look)


def _addresses(look: PathProbed) -> set[str]:
    """As a kernel has them, with numbers for names."""
    port = look.address.rpartition(":")[2]
    return {look.address, *(f"{ip}:{port}" for ip in look.ips)}


def _came_up(evidence: Evidence, task: TaskId) -> bool:
    return any(is_ready(look) for look in evidence.of(PathProbed) if look.target == task)


def _is_same(tried: str, right: str) -> bool:
    """Only the port counts: logs have the numbers of hosts, definitions their names."""
    return tried.rpartition(":")[2] == right.rpartition(":")[2]


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    hears=(REFUSED_AT, STILL_WAITING),
    remedy=AskHuman(),
    yields_to=frozenset({"spec-differs", "proxy-hijack"}),
)
