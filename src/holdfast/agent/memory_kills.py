"""Whom the kernel killed for want of memory: by its log, and by what memory cgroups count."""

from collections.abc import Callable, Iterable, Iterator

from holdfast.agent import aftermath
from holdfast.agent.running_task import RunningTask
from holdfast.model.facts import Fact, KernelKilledForMemory
from holdfast.probes.kernel import KernelLog
from holdfast.probes.memory import MemoryCgroup, cgroup_at, cgroup_path


class MemoryKills:
    def __init__(self) -> None:
        self._kernel = KernelLog()
        self._cgroups: dict[str, MemoryCgroup] = {}  # as they were when first seen

    @property
    def blind(self) -> str:
        """Why the kernel's log cannot be read; empty where it can."""
        return self._kernel.blind

    def look_at(self, running: RunningTask) -> None:
        """Keep in mind which memory cgroup a task is in: a wrapper may move it."""
        path = cgroup_path(running.pid)
        if path is not None and path not in running.cgroups and (now := cgroup_at(path)):
            # A dying process is already out of its cgroup: where it has been counts, too.
            running.cgroups |= {path}
            self._cgroups.setdefault(path, now)

    def in_kernel_log(self, where_of: Callable[[int], aftermath.Where]) -> Iterator[Fact]:
        """Each kill once; `where_of` tells whose process it was."""
        for kill in self._kernel.oom_kills():
            yield KernelKilledForMemory(
                pid=kill.pid,
                process=kill.process,
                rss_bytes=kill.rss_bytes,
                cgroup=kill.cgroup,
                **where_of(kill.pid),
            )

    def in_cgroups(self, where: aftermath.Where, paths: Iterable[str]) -> Iterator[Fact]:
        """Each kill is told of one task only: the next to die in that cgroup starts afresh."""
        for path in sorted(paths):
            before, now = self._cgroups[path], cgroup_at(path)
            if now is not None:
                yield from aftermath.memory_kills(where, before, now)
                self._cgroups[path] = now

    def close(self) -> None:
        self._kernel.close()
