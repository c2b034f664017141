"""What tasks and their host use while a job trains, and what the host's kernel says of it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.agent.rates import HostFlows, disk_rates, network_rates
from holdfast.agent.watch_disk import DiskLook
from holdfast.agent.watch_files import FilesLook
from holdfast.agent.watch_gpu import GpuLook
from holdfast.agent.watch_held import HeldLook
from holdfast.agent.watch_kernel import KernelLook
from holdfast.agent.watch_memory import MemoryLook
from holdfast.agent.watch_usage import UsageLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import HostSampled
from holdfast.probes.flows import disk_flow, interface_flows
from holdfast.probes.links import segments_of
from holdfast.probes.memory import MemoryRoom
from holdfast.probes.pressure import HostUse, OtherPrograms, host_use

EVERY_S = 5.0  # between two measurements
WELL_AGAIN_S = 30.0
CROWDED_SHARE = 0.9  # of all cores
OTHERS_CORES = 0.5  # that other programs use, to be worth telling often
OTHERS_EVERY_S = 10.0
MEMORY_LOW_SHARE = 0.1
SEGMENTS_MIN, LOSSY_SHARE = 40, 0.02  # of a sample's TCP segments, sent again
PRESSURE_HIGH = {"memory": 0.1, "io": 0.5}


class HostLook:
    """All looks at processes and resources: what is urgent first, and each in its own rhythm."""

    def __init__(self, *, host: str, folders: Sequence[tuple[str, str]] = ()) -> None:
        """`folders`: where Holdfast itself writes, each with its purpose, such as logs."""
        self._host = host
        self._held = HeldLook(host)
        self._usage = UsageLook(host)
        self._memory = MemoryLook(host)
        self._disk = DiskLook(host, folders)
        self._files = FilesLook(host)
        self._kernel = KernelLook(host)
        self._gpu = GpuLook(host)
        self._others = OtherPrograms()
        self._others_s = float("-inf")
        self._cores_of_others: dict[str, float] = {}
        self._points: list[tuple[float, HostUse]] = []
        self._segments: tuple[int, int] | None = None
        self._sent = self._again = 0  # segments, since the last fact
        self._flows: HostFlows | None = None  # when the last fact was made
        self._told_s: float | None = None
        self._was_short = False
        self._crowded = False

    @property
    def hurries(self) -> bool:
        return self._held.hurries

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        """Called about once a second; what is new or wrong."""
        yield from self._held.look(tasks, at_s)
        yield from self._kernel.look(tasks, at_s)
        if not self._points or at_s - self._points[-1][0] >= EVERY_S:
            yield from self._sample(tasks, at_s)
        yield from self._usage.look(tasks, at_s, crowded=self._crowded)
        now = self._points[-1][1]
        used_bytes = now.memory_bytes - now.memory_free_bytes
        yield from self._memory.look(tasks, at_s, MemoryRoom(now.memory_bytes, used_bytes, ""))
        yield from self._disk.look(tasks, at_s)
        yield from self._files.look(tasks, at_s)
        yield from self._gpu.look(tasks, at_s)

    def _sample(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        now = host_use()
        before_s, before = self._points[-1] if self._points else (at_s, now)
        self._points = [*self._points[-1:], (at_s, now)]
        over_s = at_s - before_s
        if over_s <= 0:
            return
        total_s = now.total_s - before.total_s
        busy = (now.busy_s - before.busy_s) / total_s if total_s > 0 else 0.0
        pressure = {
            name: round((stalled - before.stalls_s.get(name, stalled)) / over_s, 3)
            for name, stalled in now.stalls_s.items()
        }
        sent, again = self._segments_since(tasks)
        self._sent, self._again = self._sent + sent, self._again + again
        self._crowded = busy >= CROWDED_SHARE
        self._look_for_others(at_s)
        short = (
            sum(self._cores_of_others.values()) >= OTHERS_CORES
            or now.memory_free_bytes < MEMORY_LOW_SHARE * now.memory_bytes
            or any(pressure.get(name, 0.0) >= high for name, high in PRESSURE_HIGH.items())
            or (sent >= SEGMENTS_MIN and again >= LOSSY_SHARE * sent)
        )
        due = self._told_s is None or at_s - self._told_s >= WELL_AGAIN_S
        if not (short or self._was_short or due):
            return
        self._told_s, self._was_short = at_s, short
        fact = self._fact(at_s, now, over_s=over_s, busy=busy, pressure=pressure)
        yield replace(fact, **self._flow_rates(tasks, at_s))

    def _look_for_others(self, at_s: float) -> None:
        """Who hogs the cores, once all of them are busy."""
        if not self._crowded:
            self._others.forget()
            self._cores_of_others = {}
            self._others_s = float("-inf")
        elif not self._cores_of_others or at_s - self._others_s >= OTHERS_EVERY_S:
            self._others_s = at_s
            # The tasks, the reader and we ourselves are all below the supervisor.
            self._cores_of_others = self._others.cores_used(at_s, ours={os.getppid(), os.getpid()})

    def _fact(
        self,
        at_s: float,
        now: HostUse,
        *,
        over_s: float,
        busy: float,
        pressure: Mapping[str, float],
    ) -> HostSampled:
        where: dict[str, Any] = {"at_s": at_s, "host": self._host}
        sent, again, self._sent, self._again = self._sent, self._again, 0, 0
        return HostSampled(
            over_s=round(over_s, 3),
            cpus=now.cpus,
            busy_share=round(busy, 3),
            memory_bytes=now.memory_bytes,
            memory_free_bytes=now.memory_free_bytes,
            cpu_pressure=pressure.get("cpu", -1.0),
            memory_pressure=pressure.get("memory", -1.0),
            io_pressure=pressure.get("io", -1.0),
            segments_sent=sent,
            segments_again=again,
            others=self._cores_of_others,
            **where,
        )

    def _flow_rates(self, tasks: Mapping[TaskId, Watched], at_s: float) -> dict[str, Any]:
        """Of interfaces, in the network namespace of the first task, and of disks."""
        first = next(iter(tasks.values()), None)
        interfaces = interface_flows(first.main) if first else {}
        before, now = self._flows, HostFlows(at_s, interfaces, disk_flow())
        self._flows = now
        return {**network_rates(before, now), **disk_rates(before, now)}

    def _segments_since(self, tasks: Mapping[TaskId, Watched]) -> tuple[int, int]:
        """Since the last sample, in the network namespace of the first task."""
        first = next(iter(tasks.values()), None)
        now = segments_of(first.main) if first else None
        before, self._segments = self._segments, now
        if now is None or before is None:
            return 0, 0
        return max(0, now[0] - before[0]), max(0, now[1] - before[1])
