"""What the kernel's log says of the tasks and their host while the job runs."""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import KernelSaid
from holdfast.probes.kernel import KernelLog, process_of

AGAIN_S = 30.0  # for the same trouble of the same device or process
TROUBLES_MAX = 64
PIDS_MAX = 10_000


class KernelLook:
    """Strangers' crashes are none of our business; disks and GPUs are everybody's."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._log = KernelLog()
        self._told: dict[tuple[str, str, int], float] = {}
        self._pids: dict[int, TaskId] = {}  # also of those that have just died

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        if len(self._pids) >= PIDS_MAX:
            self._pids.clear()
        self._pids |= {pid: task for task, one in tasks.items() for pid in one.pids}
        for word in self._log.words():
            task = self._pids.get(word.pid) or self._pids.get(process_of(word.pid))
            if task is None and not word.device:
                continue
            trouble = (word.about, word.device, word.pid)
            if at_s - self._told.get(trouble, float("-inf")) < AGAIN_S:
                continue
            if len(self._told) >= TROUBLES_MAX:
                self._told.clear()
            self._told[trouble] = at_s
            where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
            yield KernelSaid(
                about=word.about,
                text=word.text,
                pid=word.pid,
                process=word.process,
                device=word.device,
                **where,
            )
