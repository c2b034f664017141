"""One process after its end: what it left behind, as facts, and what they prove."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast import __version__
from holdfast.agent import aftermath
from holdfast.agent.clock import Clock
from holdfast.diagnose import diagnose, telling_lines
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    KernelKilledForMemory,
    ProbeBlind,
    TaskExited,
    TaskStarted,
)
from holdfast.model.findings import Diagnosis
from holdfast.probes.kernel import KernelLog
from holdfast.probes.memory import cgroup_at, memory_cgroup
from holdfast.probes.output import Listener

PROCESS = TaskId("process", 0)
CHUNK_BYTES = 1 << 20


class MemoryWitness:
    """Looks on from the start, so that an OOM kill can be told from any other kill."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cgroup = memory_cgroup(pid)
        self._kernel = KernelLog()

    def facts(self, where: aftermath.Where) -> Iterator[Fact]:
        if self._kernel.blind:
            yield ProbeBlind(probe="kernel log", why=self._kernel.blind, **where)
        for kill in self._kernel.oom_kills():
            yield KernelKilledForMemory(
                pid=kill.pid,
                process=kill.process,
                rss_bytes=kill.rss_bytes,
                cgroup=kill.cgroup,
                **{**where, "task": PROCESS if kill.pid == self._pid else None},
            )
        now = cgroup_at(self._cgroup.path) if self._cgroup else None
        if self._cgroup and now:
            yield from aftermath.memory_kills(where, self._cgroup, now)

    def close(self) -> None:
        self._kernel.close()


def post_mortem(
    return_code: int,
    streams: Mapping[str, int],
    *,
    pid: int,
    memory: MemoryWitness,
    clock: Clock,
    began_unix_s: float,
    host: str,
) -> Diagnosis:
    """The diagnosis of a process that ran outside of any job."""
    at: dict[str, Any] = {"at_s": clock.at_s(), "host": host}
    where = {**at, "task": PROCESS}
    facts: list[Fact] = [
        AttemptStarted(
            at_s=0.0,
            host=host,
            began_unix_s=began_unix_s,
            tasks=(str(PROCESS),),
            holdfast=__version__,
        ),
        TaskStarted(at_s=0.0, host=host, task=PROCESS, pid=pid),
        TaskExited(
            exit_code=return_code if return_code >= 0 else None,
            signal=-return_code if return_code < 0 else None,
            **where,
        ),
        *(memory.facts(where) if return_code else ()),
        *aftermath.words_left(where, dict(streams)),
    ]
    for stream, fd in streams.items():
        facts += _heard(stream, fd, at["at_s"], host)
    return diagnose(Evidence(facts))


def _heard(stream: str, fd: int, at_s: float, host: str) -> Iterator[Fact]:
    listener = Listener(host=host, task=PROCESS, stream=stream, telling=telling_lines())
    while chunk := os.pread(fd, CHUNK_BYTES, listener.offset):
        yield from listener.feed(chunk, at_s)
    yield from listener.end(at_s)
