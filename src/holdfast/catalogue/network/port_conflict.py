"""A task could not listen on its port because another process already does.

## What you see
The task ends within seconds of its start. TensorFlow 2.21 says `Could not start gRPC server`
and `No address added out of total 1 resolved`, without the reason; older versions and plain
Python say `Address already in use`. The other tasks wait for it, mostly in silence. Before a
start, `holdfast check` finds the port taken.

## Why it happens
A process of an earlier attempt is still alive, two jobs use the same fixed port, the same
task was started twice, or the lists of addresses in two TF_CONFIGs are ordered differently.

## How to confirm it by hand
`ss -ltnp 'sport = :PORT'` on the task's host shows who listens there.

## What to do
End the process that holds the port if it is a leftover, or give the task another port.
`holdfast run` picks free ports by itself: do not write fixed ones into the program.

## When this accusation would be wrong
When the server could not start for another reason, such as an address that is not on this
host or a port below 1024 without the rights. Then nobody is found on the port, and the
finding says `likely` instead of `certain`. Before a start: when whoever holds the port is gone
by then. A task that already answers there, or whose process it is, holds it by right.
"""

from collections.abc import Iterator

from holdfast.model.begun import begun_tasks
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LogLine, PortHeld, SpecRead, TaskExited, TaskStarted
from holdfast.model.findings import TRY_AGAIN_CODE, Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words

IN_USE = Pattern(r"(?i)address already in use|EADDRINUSE|only one usage of each socket address")
NO_SERVER = Pattern(
    r"Could not start gRPC server|No address added out of total \d+ resolved"
    r"|Failed to add (?:any wildcard listeners|port to server)"
)
PORT = Pattern(r"(?:\d+\.\d+\.\d+\.\d+|\]):(\d{1,5})\b")


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _before_start(evidence)
    for failure in evidence.failures():
        said = [
            *evidence.lines(IN_USE, failure.task),
            *evidence.lines(NO_SERVER, failure.task),
        ]
        if not said or not evidence.ended_over(failure, IN_USE, NO_SERVER):
            continue
        port = _port(said)
        held = next(evidence.of(PortHeld, failure.task), None)
        if held and port not in {0, held.port}:
            held = None
        port = held.port if held else port
        owner = _owner(evidence, failure, port)
        certain = held or owner or any(IN_USE.search(line.text) for line in said)
        facts: tuple[Fact, ...] = (said[0], *((held,) if held else ()), failure)
        intruder = held.holder if held else None
        yield Proof(
            facts=facts,
            culprit=intruder or failure.task,
            seen_at=failure.task if intruder else None,
            confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
            says=f"{failure.task} could not listen on {_place(port)}{_holder(held, owner)}",
            do=_do(held, owner, port),
            exit_code=TRY_AGAIN_CODE,
        )


def _before_start(evidence: Evidence) -> Iterator[Proof]:
    """A port that is taken before its task was started; one that is up holds it by right."""
    begun = begun_tasks(evidence)
    pids = {spec.pid for spec in evidence.of(SpecRead)} - {0}
    last = {(held.host, held.task): held for held in evidence.of(PortHeld)}
    for held in last.values():
        if held.task in begun or evidence.exit_of(held.task) or held.holder or held.pid in pids:
            continue
        yield Proof(
            facts=(held,),
            culprit=held.task,
            confidence=Confidence.HIGH,
            says=f"{held.task} must listen on port {held.port} of {held.host}{_holder(held, None)}",
            do=_do(held, None, held.port),
            exit_code=TRY_AGAIN_CODE,
        )


def _port(said: list[LogLine]) -> int:
    return next((int(found.group(1)) for line in said if (found := PORT.search(line.text))), 0)


def _owner(evidence: Evidence, failure: TaskExited, port: int) -> TaskStarted | None:
    """Another task of this job on this host that was given the same port."""
    return next(
        (
            start
            for start in evidence.of(TaskStarted)
            if start.address.endswith(f":{port}")
            and start.task != failure.task
            and start.host == failure.host
        ),
        None,
    )


def _place(port: int) -> str:
    return f"port {port}" if port else "its port"


def _holder(held: PortHeld | None, owner: TaskStarted | None) -> str:
    if owner is not None:
        return f", which is the port of {owner.task}: their TF_CONFIGs differ"
    if held is None:
        return ""
    if held.holder is not None:
        return f": {held.holder} of the same job holds it (pid {held.pid})"
    if held.pid is None:
        return ": a process of another user holds it"
    return f": {held.command or 'a process'} holds it (pid {held.pid}, user {held.user})"


def _do(held: PortHeld | None, owner: TaskStarted | None, port: int) -> tuple[str, ...]:
    if owner or (held and held.holder):
        return (
            "make the lists of addresses in TF_CONFIG the same in all tasks",
            "or do not change it: `holdfast run` gives every task a correct TF_CONFIG",
        )
    look = f"ss -ltnp 'sport = :{port}'" if port else "ss -ltnp"
    if held is None or held.pid is None:
        return (f"see who listens there: {look}", "end it, or use another port")
    return (
        f"if it is a leftover, end it: kill {held.pid}",
        "otherwise use another port, or let `holdfast run` choose",
    )


WORDS = (
    Words(
        IN_USE,
        unless=Pattern(r"(?i)trying (?:another|the next)|TensorBoard|falling back|will retry"),
        says="{who} could not listen on its port, which is already in use: {line}",
    ),
    # Newer versions hide the reason; almost always the port is taken.
    Words(
        NO_SERVER,
        Weight.SIGN,
        says="{who} could not start its server; most likely its port is taken: {line}",
    ),
    Words(
        Pattern(
            r"port is already allocated|[Ff]ailed to bind to (?:address:? |port:? |\S+:\d+)"
            r"|(?:[Cc]ould(?: not|n't)|[Cc]annot|[Cc]an't|[Uu]nable to) bind (?:to )?(?:port"
            r"|address)"
            r"|Failed to start HTTP Server at|but another process is utilizing it"
            r"|[Ee]rror binding (?:to )?(?:port|address)|bind: (?:permission|An attempt was made)"
            r"|[Pp]ort \d+ is already in use|server socket has failed to listen on any local"
        ),
        Weight.SIGN,
        unless=Pattern(r"(?i)trying|TensorBoard"),
        says="{who} could not listen on its port: {line}",
    ),
)

cause = Cause(
    family="port-conflict",
    detect=detect,
    hears=(IN_USE, NO_SERVER),
    remedy=Relaunch(fresh_ports=True),
    preview=False,
    yields_to=frozenset({"spec-differs", "spec-task-twice"}),
    words=WORDS,
    do=(
        "see who holds the port: ss -ltnp 'sport = :PORT'",
        "end that process, or give the task another port in every definition",
    ),
)
