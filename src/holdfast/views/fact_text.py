"""What a fact says, in one line for a person."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final

from holdfast.model import facts
from holdfast.model.log_facts import LogsGiven, TotalTold
from holdfast.model.origin import origin_of
from holdfast.model.path import Outcome
from holdfast.model.program_facts import ChiefForAll, Hdf5LocksOff
from holdfast.model.signals import signal_name
from holdfast.model.words import bytes_text, seconds_text
from holdfast.views.finding_fact_text import SAY_FINDINGS
from holdfast.views.recovery_fact_text import SAY_RECOVERY
from holdfast.views.told_fact_text import SAY_TOLD, raised_at
from holdfast.views.watch_fact_text import SAY

_NAMED_MAX: Final = 8  # members of a list that a sentence names
_SAY_ELSEWHERE: Final = {**SAY, **SAY_TOLD, **SAY_RECOVERY, **SAY_FINDINGS}


def fact_text(fact: facts.Fact) -> str:
    """One sentence without a full stop. The text is as strange as the fact: not yet sanitised."""
    say = _SAY.get(type(fact)) or _SAY_ELSEWHERE.get(type(fact))
    return say(fact) if say else _plainly(fact)


def _plainly(fact: facts.Fact) -> str:
    """For a kind that has no sentence of its own: its name and its fields."""
    name = "".join(f" {char.lower()}" if char.isupper() else char for char in type(fact).__name__)
    own = {field.name for field in fields(fact)} - {field.name for field in fields(facts.Fact)}
    values = (
        f"{field.name} {getattr(fact, field.name)}" for field in fields(fact) if field.name in own
    )
    return f"{name.strip()}: {', '.join(values)}"


def _signal(number: int) -> str:
    name = signal_name(number)
    return name if name.startswith("signal") else f"{name} (signal {number})"


def _exited(fact: facts.TaskExited) -> str:
    core = ", core dumped" if fact.core_dumped else ""
    if fact.signal is not None:
        return f"ended on {_signal(fact.signal)}{core}"
    if fact.unseen:
        return "ended, and nobody saw how"
    return f"ended with exit code {fact.exit_code}{core}"


def _traceback(fact: facts.TracebackSeen) -> str:
    origin = origin_of(fact)
    return f"{origin.text}{raised_at(origin, fact.frames)}"


def _last_words(fact: facts.LastWords) -> str:
    last = next((line for line in reversed(fact.lines) if line.strip()), "")
    return f"its last words: {last}" if last else "it left no last words"


def _kernel_kill(fact: facts.KernelKilledForMemory) -> str:
    whose = f"memory cgroup {fact.cgroup}" if fact.cgroup else "the whole host was out of memory"
    size = bytes_text(fact.rss_bytes)
    return f"kernel killed pid {fact.pid} ({fact.process}) at {size}: {whose}"


def _cgroup_kill(fact: facts.CgroupKilledForMemory) -> str:
    times = "once" if fact.kills == 1 else f"{fact.kills} times"
    limit = "" if fact.limit_bytes is None else f", whose limit is {bytes_text(fact.limit_bytes)}"
    return f"kernel killed for memory {times} in cgroup {fact.cgroup}{limit}"


def _disk(fact: facts.DiskMeasured) -> str:
    inodes = "" if fact.free_inodes < 0 else f", {fact.free_inodes:,} inodes free"
    purpose = f" ({fact.purpose})" if fact.purpose else ""
    free, total = bytes_text(fact.free_bytes), bytes_text(fact.total_bytes)
    left = "" if fact.left_s < 0 else f", full in {seconds_text(fact.left_s)} at this pace"
    return f"{free} of {total} free in {fact.path}{purpose}{inodes}{left}"


def _port(fact: facts.PortHeld) -> str:
    command = f" `{fact.command}`" if fact.command else ""
    user = f" (user {fact.user})" if fact.user else ""
    if fact.holder is not None:
        return f"port {fact.port} is held by {fact.holder} of this same job"
    if fact.pid is None:
        return f"port {fact.port} is held by a process that we may not see{command}{user}"
    return f"port {fact.port} is held by pid {fact.pid}{command}{user}"


def _limit(fact: facts.LimitSeen) -> str:
    used = "" if fact.used < 0 else f"{fact.used:,} of "
    return f"{fact.limit}: {used}{fact.soft:,} allowed"


def _output_ended(fact: facts.OutputEnded) -> str:
    return f"std{fact.stream} ended after {fact.lines_total:,} lines"


def _stop(fact: facts.StopAsked) -> str:
    return f"{fact.by} asked for the end with {_signal(fact.signal)}"


def _released(fact: facts.OutputReleased) -> str:
    return f"the oldest {bytes_text(fact.bytes_released)} of std{fact.stream} were given back"


def _few(names: Iterable[object]) -> str:
    """The first names of many, and how many there are."""
    told = list(map(str, names))
    more = f" and {len(told) - _NAMED_MAX} more" if len(told) > _NAMED_MAX else ""
    return ", ".join(told[:_NAMED_MAX]) + more


def _spec(fact: facts.SpecRead) -> str:
    counted = _few(f"{len(members)} {role}" for role, members in fact.cluster.items())
    has_own = fact.role and not fact.bare
    own = f", and its own task is {fact.role}:{fact.index}" if has_own else ""
    how = "was given" if fact.given else "has"
    return f"{fact.source} {how} a cluster of {counted or 'nobody'}{own}"


def _no_spec(fact: facts.SpecUnreadable) -> str:
    place = f", line {fact.line}" if fact.line else ""
    place += f", column {fact.column}" if fact.line and fact.column else ""
    excerpt = f": {fact.excerpt}" if fact.excerpt else ""
    return f"{fact.source}{place}: {fact.mistake}{excerpt}"


_OUTCOMES: Final[dict[str, str]] = {
    Outcome.ANSWERED: "a TensorFlow server answered",
    Outcome.STALLED: "somebody took the connection and said nothing",
    Outcome.REFUSED: "the host is there, and nobody listens",
    Outcome.FILTERED: "no answer at all",
    Outcome.UNREACHABLE: "the network knows no way there",
    Outcome.RESET: "the connection was thrown out",
    Outcome.NOT_GRPC: "whoever listens there does not speak gRPC",
    Outcome.NOT_TENSORFLOW: "a gRPC server, but not one of TensorFlow",
    Outcome.UNRESOLVED: "the name means nothing here",
    Outcome.BAD_ADDRESS: "not an address",
    Outcome.BLIND: "we could not look",
}


def _path(fact: facts.PathProbed) -> str:
    target = f" ({fact.target})" if fact.target else ""
    told = _OUTCOMES.get(fact.outcome, fact.outcome)
    if fact.name:
        told += f" as {fact.name}"
    if fact.devices:
        told += f" with {_few(fact.devices)}"
    took = f" after {seconds_text(fact.took_s)}" if fact.took_s else ""
    says = f": {fact.says}" if fact.says else ""
    return f"{fact.address}{target}: {told}{took}{says}"


def _speed(fact: facts.PathMeasured) -> str:
    target = f" ({fact.target})" if fact.target else ""
    speed = f", {bytes_text(round(fact.bytes_per_s))}/s" if fact.bytes_per_s else ""
    lost = f", {fact.lost} of {fact.tries} lost" if fact.lost else f", {fact.tries} tries"
    median, worst = seconds_text(fact.p50_s), seconds_text(fact.p99_s)
    return f"{fact.address}{target}: {median} in the middle, {worst} at worst{lost}{speed}"


def _peers(fact: facts.PeersListed) -> str:
    if fact.answered:
        return f"{fact.address} sees {_few(sorted(fact.sees)) or 'nobody'}"
    waited = seconds_text(fact.waited_s)
    return f"{fact.address} did not say within {waited} whom it sees: it waits for somebody"


def _sockets(fact: facts.SocketsSeen) -> str:
    ports = f"listens on {_few(fact.listening)}" if fact.listening else "listens on no port"
    trying = f", waits for an answer from {_few(fact.trying)}" if fact.trying else ""
    return f"{ports}, has {len(fact.connected)} connections{trying}"


_STATES: Final = {
    "R": "was running",
    "S": "slept",
    "D": "waited for storage or the kernel",
    "T": "was stopped",
    "t": "was stopped by a debugger",
    "Z": "was dead, and nobody had collected it",
}


def _process(fact: facts.ProcessSeen) -> str:
    did = _STATES.get(fact.state, f"was in state {fact.state}")
    loaded = "" if fact.loaded_tensorflow else ", and has not loaded TensorFlow"
    lasting = f" for {seconds_text(fact.lasting_s)}" if fact.lasting_s else ""
    by = f" ({fact.tracer})" if fact.tracer else f" (at {fact.path})" if fact.path else ""
    by = f" (frozen with its cgroup {fact.frozen})" if fact.frozen else by
    instead = f" instead of pid {fact.replaces}" if fact.replaces else ""
    return f"pid {fact.pid}{instead} {did}{lasting}{by} after {fact.cpu_s:.1f} s of CPU{loaded}"


def _elsewhere(fact: facts.AddressNotHere) -> str:
    ips = f" ({_few(fact.ips)})" if fact.ips else ""
    return f"{fact.address}{ips} is not an address of {fact.host}"


def _host(fact: facts.HostMeasured) -> str:
    limit = fact.cgroup_limit_bytes
    allowed = "" if limit is None else f", {bytes_text(limit)} allowed here"
    free, total = bytes_text(fact.memory_free_bytes), bytes_text(fact.memory_bytes)
    tasks = f", for {_few(fact.tasks)}" if fact.tasks else ""
    cpus = "1 CPU" if fact.cpus == 1 else f"{fact.cpus} CPUs"
    return f"{cpus}, {free} of {total} memory free{allowed}{tasks}"


def _folder(fact: facts.FolderMeasured) -> str:
    tried = {"writing": fact.write, "locks": fact.locks, "appending": fact.append}
    told = ", ".join(f"{name}: {word}" for name, word in tried.items() if word)
    kind = f" on {fact.filesystem}" if fact.filesystem else ""
    return f"{fact.path} ({fact.purpose}){kind}; {told or 'nothing was tried'}"


_CLOCK_STATES: Final[dict[bool | None, str]] = {
    True: "the kernel calls it synchronised",
    False: "the kernel calls it free-running",
    None: "the kernel does not say whether it is synchronised",
}


def _clock(fact: facts.ClockMeasured) -> str:
    state = _CLOCK_STATES[fact.synchronised]
    if not fact.against:
        return f"the clock was compared with nothing; {state}"
    ahead = "ahead of" if fact.offset_s >= 0 else "behind"
    error = f", give or take {seconds_text(fact.error_s)}" if fact.error_s else ""
    return f"the clock is {seconds_text(abs(fact.offset_s))} {ahead} {fact.against}{error}; {state}"


def _environment(fact: facts.EnvironmentSeen) -> str:
    whose = f"pid {fact.pid}" if fact.pid else "a task started here"
    told = _few(f"{name}={value}" for name, value in sorted(fact.variables.items()))
    return f"{whose} gets {told or 'no variable that gRPC looks at'}"


def _versions(fact: facts.VersionsSeen) -> str:
    told = _few(f"{name} {version}" for name, version in fact.versions.items())
    return f"{fact.interpreter}: {told or 'nothing that we know'}"


def _idle(fact: facts.TaskIdle) -> str:
    timer = "" if fact.timers else ", no timer"
    return f"idle for {fact.idle_s:.0f} s: no CPU, no output{timer}"


def _blocked(fact: facts.StartBlocked) -> str:
    if not fact.missing:
        where = "stood in calls of the start, and every server answered"
        return f"not started after {seconds_text(fact.deadline_s)}: {_few(fact.waiting)} {where}"
    waiting = f"{_few(fact.waiting)} waited for " if fact.waiting else "missing: "
    return f"not started after {seconds_text(fact.deadline_s)}: {waiting}{_few(fact.missing)}"


_SAY: Final[dict[type[facts.Fact], Callable[[Any], str]]] = {
    facts.AddressNotHere: _elsewhere,
    facts.AttemptEnded: lambda fact: f"the attempt ended with {fact.exit_code}: {fact.why}",
    facts.Attached: lambda _: "somebody asked how the cluster stands",
    facts.AttemptStarted: lambda fact: f"the attempt began with {len(fact.tasks)} tasks",
    facts.CgroupKilledForMemory: _cgroup_kill,
    facts.ClockMeasured: _clock,
    facts.DiskMeasured: _disk,
    facts.EnvironmentSeen: _environment,
    facts.FolderMeasured: _folder,
    ChiefForAll: lambda fact: f"{fact.file} line {fact.line}: {fact.text}",
    Hdf5LocksOff: lambda fact: f"{fact.file} line {fact.line}: {fact.text}",
    facts.HostMeasured: _host,
    facts.KernelKilledForMemory: _kernel_kill,
    facts.LastWords: _last_words,
    facts.LeftoverEnded: lambda fact: f"left pid {fact.pid} `{fact.command}` behind",
    facts.LimitSeen: _limit,
    facts.LogLine: lambda fact: str(fact.text),
    LogsGiven: lambda fact: f"{len(fact.sources)} log files were given",
    TotalTold: lambda fact: f"its log ends {'at' if fact.is_reached else 'short of'} its total",
    facts.OutputEnded: _output_ended,
    facts.OutputReleased: _released,
    facts.PathMeasured: _speed,
    facts.PathProbed: _path,
    facts.PeersListed: _peers,
    facts.PortHeld: _port,
    facts.ProbeBlind: lambda fact: f"the {fact.probe} probe could not look: {fact.why}",
    facts.ProcessSeen: _process,
    facts.SignalAsked: lambda fact: f"{fact.by} asked for {_signal(fact.signal)} to every task",
    facts.SignalSent: lambda fact: f"we sent {_signal(fact.signal)}: {fact.why}",
    facts.SocketsSeen: _sockets,
    facts.SpecRead: _spec,
    facts.SpecUnreadable: _no_spec,
    facts.StartBlocked: _blocked,
    facts.StartWaits: lambda fact: str(fact.says),
    facts.StopAsked: _stop,
    facts.TaskExited: _exited,
    facts.TaskIdle: _idle,
    facts.TaskNotStarted: lambda fact: f"could not execute `{fact.command}`: {fact.errno_name}",
    facts.TaskStarted: lambda fact: f"started as pid {fact.pid}",
    facts.TimePassed: lambda fact: f"{fact.at_s:.0f} s had passed",
    facts.TracebackSeen: _traceback,
    facts.UnknownFact: lambda fact: f"a fact of a newer Holdfast: {fact.kind}",
    facts.VersionsSeen: _versions,
}
