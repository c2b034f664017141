"""What a fact says, in one line for a person."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from holdfast.model import facts
from holdfast.model.signals import signal_name

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_UNIT_STEP: Final = 1024


def fact_text(fact: facts.Fact) -> str:
    """One sentence without a full stop. The text is as strange as the fact: not yet sanitised."""
    say = _SAY.get(type(fact))
    return say(fact) if say else _plainly(fact)


def bytes_text(count: int) -> str:
    """1.2 GiB rather than 1288490189."""
    amount = float(count)
    for unit in _UNITS:
        if abs(amount) < _UNIT_STEP or unit == _UNITS[-1]:
            break
        amount /= _UNIT_STEP
    return f"{count} {unit}" if unit == _UNITS[0] else f"{amount:.1f} {unit}"


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
    return f"ended with exit code {fact.exit_code}{core}"


def _traceback(fact: facts.TracebackSeen) -> str:
    where = f" (raised at {fact.frames[-1].partition(': ')[0]})" if fact.frames else ""
    first_line = next(iter(fact.message.splitlines()), "")
    return f"{fact.exception}: {first_line}{where}" if first_line else f"{fact.exception}{where}"


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
    return f"{free} of {total} free in {fact.path}{purpose}{inodes}"


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


_SAY: Final[dict[type[facts.Fact], Callable[[Any], str]]] = {
    facts.AttemptEnded: lambda fact: f"the attempt ended with {fact.exit_code}: {fact.why}",
    facts.AttemptStarted: lambda fact: f"the attempt began with {len(fact.tasks)} tasks",
    facts.CgroupKilledForMemory: _cgroup_kill,
    facts.DiskMeasured: _disk,
    facts.KernelKilledForMemory: _kernel_kill,
    facts.LastWords: _last_words,
    facts.LeftoverEnded: lambda fact: f"left pid {fact.pid} `{fact.command}` behind",
    facts.LimitSeen: _limit,
    facts.LogLine: lambda fact: str(fact.text),
    facts.OutputEnded: _output_ended,
    facts.OutputReleased: _released,
    facts.PortHeld: _port,
    facts.ProbeBlind: lambda fact: f"the {fact.probe} probe could not look: {fact.why}",
    facts.SignalAsked: lambda fact: f"{fact.by} asked for {_signal(fact.signal)} to every task",
    facts.SignalSent: lambda fact: f"we sent {_signal(fact.signal)}: {fact.why}",
    facts.StopAsked: _stop,
    facts.TaskExited: _exited,
    facts.TaskIdle: lambda fact: f"idle for {fact.idle_s:.0f} s: no CPU, no output, no timer",
    facts.TaskNotStarted: lambda fact: f"could not execute `{fact.command}`: {fact.errno_name}",
    facts.TaskStarted: lambda fact: f"started as pid {fact.pid}",
    facts.TimePassed: lambda fact: f"{fact.at_s:.0f} s had passed",
    facts.TracebackSeen: _traceback,
    facts.UnknownFact: lambda fact: f"a fact of a newer Holdfast: {fact.kind}",
}
