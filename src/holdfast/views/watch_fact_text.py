"""What a fact of a training job says, in one line for a person."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.model import watch_facts as facts
from holdfast.model.facts import Fact
from holdfast.model.signals import signal_name
from holdfast.model.words import bytes_text, listed, seconds_text


def _steps(fact: facts.StepsSeen) -> str:
    pace = f", {seconds_text(fact.step_s)} a step" if fact.step_s else ""
    return f"at step {fact.step}{pace} ({fact.source})"


def _still(fact: facts.TaskStill) -> str:
    habit = f"it never paused for more than {seconds_text(fact.usual_s)} before"
    known = habit if fact.usual_s else "it has no habit yet"
    busy = f", while it used {fact.cpu_share:.0%} of a core" if fact.cpu_share >= CPU_WORTH else ""
    stand = "stand" if fact.sign.endswith("s") else "stands"
    return f"its {fact.sign} {stand} still for {seconds_text(fact.still_s)}{busy}; {known}"


def _waits(fact: facts.TaskWaits) -> str:
    if not fact.waits_s:
        return "no longer waits"
    longest = f", for longer than ever ({seconds_text(fact.usual_s)})" if fact.usual_s else ""
    what = "has told no step" if fact.unstepped else "does nothing"
    return f"{what} for {seconds_text(fact.waits_s)}{longest}"


def _slow(fact: facts.TaskSlow) -> str:
    if fact.factor <= 1:
        return "as fast as the others again"
    own, others = seconds_text(fact.step_s), seconds_text(fact.others_s)
    return f"{fact.factor:.1f} times as slow as the others: {own} a step, theirs {others}"


def _sample(fact: facts.TaskSampled) -> str:
    parts = [f"used {fact.cpu_share:.0%} of a core", f"{bytes_text(fact.rss_bytes)} of memory"]
    if fact.starved_share >= SHARE_WORTH:
        parts.append(f"wanted a core and got none {fact.starved_share:.0%} of the time")
    if fact.threads_starved_share >= SHARE_WORTH:
        parts.append(f"had threads that waited for a core {fact.threads_starved_share:.0%} of it")
    if fact.throttled_share >= SHARE_WORTH:
        quota = f" of {fact.quota_cores:g} cores" if fact.quota_cores else ""
        kept = f"{fact.throttled_share:.0%} of the time"
        parts.append(f"was kept from running by its cgroup{quota} {kept}")
    if fact.storage_share >= SHARE_WORTH:
        parts.append(f"waited for storage {fact.storage_share:.0%} of the time")
    parts += _storage(fact)
    waits = f", its main thread waits in {fact.waits_in}" if fact.waits_in else ""
    return f"over {seconds_text(fact.over_s)} it {', '.join(parts)} (state {fact.state}){waits}"


def _host(fact: facts.HostSampled) -> str:
    again = fact.segments_again / fact.segments_sent if fact.segments_sent else 0.0
    lost = f", {again:.1%} of its TCP segments were sent again" if fact.segments_again else ""
    others = ", ".join(f"{name} {cores:.1f}" for name, cores in list(fact.others.items())[:3])
    hogs = f" (other programs, in cores: {others})" if others else ""
    free = bytes_text(fact.memory_free_bytes)
    parts = [f"{fact.cpus} cores {fact.busy_share:.0%} busy{hogs}, {free} of memory free{lost}"]
    parts += _network(fact.received_bytes_per_s, fact.sent_bytes_per_s)
    parts += [f"its disks {what}" for what in _storage(fact)]
    if fact.disk_busy_share >= SHARE_WORTH:
        parts.append(f"the busiest disk worked {fact.disk_busy_share:.0%} of the time")
    return ", ".join(parts)


def _network(
    received: Mapping[str, float], sent: Mapping[str, float], way: str = "over"
) -> list[str]:
    """What is worth a word of each interface or peer."""
    parts = []
    for name in dict.fromkeys((*received, *sent)):
        into, out = received.get(name, 0.0), sent.get(name, 0.0)
        if max(into, out) >= BYTES_WORTH:
            parts.append(f"{_pace(into)} in and {_pace(out)} out {way} {name}")
    return parts


def _storage(fact: facts.TaskSampled | facts.HostSampled) -> list[str]:
    parts = []
    if fact.read_bytes_per_s >= BYTES_WORTH:
        parts.append(f"read {_pace(fact.read_bytes_per_s)}")
    if fact.written_bytes_per_s >= BYTES_WORTH:
        parts.append(f"wrote {_pace(fact.written_bytes_per_s)}")
    return parts


def _pace(bytes_per_s: float) -> str:
    return f"{bytes_text(int(bytes_per_s))}/s"


def _gpu(fact: facts.GpuSampled) -> str:
    used, total = bytes_text(fact.memory_used_bytes), bytes_text(fact.memory_bytes)
    parts = [f"GPU {fact.gpu} ({fact.name}): {used} of {total} used"]
    if fact.busy_share >= 0:
        parts.append(f"{fact.busy_share:.0%} busy")
    if fact.celsius >= 0:
        parts.append(f"{fact.celsius} degrees")
    if fact.slowed_by:
        parts.append(f"slowed down by {fact.slowed_by}")
    if fact.errors_not_corrected > 0:
        parts.append(f"{fact.errors_not_corrected} memory errors not corrected")
    return ", ".join(parts)


def _files(fact: facts.FilesNearLimit) -> str:
    left = f", at its limit in {seconds_text(fact.left_s)}" if fact.left_s else ""
    return f"{fact.used} files are open, of {fact.limit} that it may{left}"


def _memory(fact: facts.MemoryNearsLimit) -> str:
    where = f"of {fact.limit_of}" if fact.limit_of else "of the host"
    used, limit = bytes_text(fact.used_bytes), bytes_text(fact.limit_bytes)
    growth = bytes_text(int(fact.growth_bytes_per_s))
    left = f"gone in {seconds_text(fact.left_s)}"
    return f"{used} of the {limit} {where} are used, {growth} more every second: {left}"


def _full(fact: facts.MemoryNearlyFull) -> str:
    where = f"of {fact.limit_of}" if fact.limit_of else "of the host"
    used, limit = bytes_text(fact.used_bytes), bytes_text(fact.limit_bytes)
    return f"{used} of the {limit} {where} are used, for {seconds_text(fact.lasting_s)} by now"


def _link(fact: facts.LinkSeen) -> str:
    if not fact.send_bytes and not fact.recv_bytes:
        return f"its connection to {fact.peer} at {fact.address} flows again"
    lasting = f"for {seconds_text(fact.lasting_s)}"
    if fact.send_bytes:
        again = f", sent again {fact.retransmits} times" if fact.retransmits else ""
        sent = f"{fact.send_bytes} bytes to {fact.peer} at {fact.address}"
        lossy = f"; {fact.recovered} times before it got through" if fact.recovered else ""
        return f"{sent} stay unacknowledged {lasting}{again}{lossy}"
    return f"{fact.recv_bytes} bytes from {fact.peer} at {fact.address} stay unread {lasting}"


def _links(fact: facts.LinksSampled) -> str:
    carried = _network(fact.received_bytes_per_s, fact.sent_bytes_per_s, "with")
    if not carried:
        return "its links to other tasks carried next to nothing"
    full = [name for name, share in fact.network_share.items() if share >= SHARE_WORTH]
    waited = ", ".join(f"{name} {fact.network_share[name]:.0%}" for name in full)
    waits = f"; what it sent waited for the network, of the time: {waited}" if full else ""
    return f"{', '.join(carried)}{waits}"


def _stacks(fact: facts.StacksSeen) -> str:
    frames = [thread.frames[-1] for thread in fact.threads[:1] if thread.frames]
    main = f", the first in {frames[0]}" if frames else ""
    return f"stacks of {len(fact.threads)} threads by {fact.by}{main}"


def _trace(fact: facts.TraceTaken) -> str:
    if fact.error:
        return f"no trace of it could be taken: {fact.error}"
    told = fact.from_step >= 0 and fact.to_step >= 0
    steps = f", steps {fact.from_step} to {fact.to_step}" if told else ""
    return f"a trace of {fact.seconds:g} s{steps} is in {fact.folder}"


CPU_WORTH, SHARE_WORTH = 0.05, 0.1  # below that, not worth a word
BYTES_WORTH = 64 << 10  # a second

SAY: Final[dict[type[Fact], Callable[[Any], str]]] = {
    facts.ChildDied: lambda fact: (
        f"its child {fact.process} ({fact.pid}) died of {signal_name(fact.signal)}"
    ),
    facts.GpuSampled: _gpu,
    facts.HostSampled: _host,
    facts.KernelSaid: lambda fact: f"the kernel says: {fact.text}",
    facts.LinkSeen: _link,
    facts.LinksSampled: _links,
    facts.MemoryNearlyFull: _full,
    facts.FilesNearLimit: _files,
    facts.MemoryNearsLimit: _memory,
    facts.ObserverLate: lambda fact: (
        f"the {fact.observer} did not get to look for {seconds_text(fact.late_s)}"
    ),
    facts.StacksSeen: _stacks,
    facts.StateChanged: lambda fact: f"{fact.before} -> {fact.state}: {fact.says}",
    facts.FileWritten: lambda fact: (
        f"writes {fact.path}" + (f", beside {listed(fact.beside)}" if fact.beside else "")
    ),
    facts.FolderWritten: lambda fact: f"writes {fact.what} into {fact.folder}",
    facts.StepsSeen: _steps,
    facts.TakenOver: lambda fact: (
        f"a new supervisor took over from pid {fact.pid}, which had been"
        f" gone for {seconds_text(fact.at_s - fact.gone_s)}"
    ),
    facts.TaskMoves: lambda fact: f"goes on, after {seconds_text(fact.still_s)}",
    facts.TaskSampled: _sample,
    facts.TaskSlow: _slow,
    facts.TaskStill: _still,
    facts.TaskWaits: _waits,
    facts.TraceTaken: _trace,
}
