"""What the GPUs of this host say of themselves; nothing where there are none."""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import GpuSampled
from holdfast.probes.gpu import Gpu, Gpus

EVERY_S = 5.0
WELL_AGAIN_S = 60.0


class GpuLook:
    def __init__(self, host: str, gpus: Gpus | None = None) -> None:
        self._host = host
        self._gpus = gpus or Gpus()
        self._looked_s = float("-inf")
        self._told: dict[int, tuple[float, str, int]] = {}  # when, slowed by what, errors

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        if not self._gpus or at_s - self._looked_s < EVERY_S:
            return
        self._looked_s = at_s
        for gpu in self._gpus.look():
            told = self._told.get(gpu.index)
            same = told is not None and told[1:] == (gpu.slowed_by, gpu.errors_not_corrected)
            if told and same and at_s - told[0] < WELL_AGAIN_S:
                continue
            self._told[gpu.index] = (at_s, gpu.slowed_by, gpu.errors_not_corrected)
            where: dict[str, Any] = {
                "at_s": at_s,
                "host": self._host,
                "task": _only_user(gpu, tasks),
            }
            yield GpuSampled(
                gpu=gpu.index,
                name=gpu.name,
                memory_bytes=gpu.memory_bytes,
                memory_used_bytes=gpu.memory_used_bytes,
                busy_share=gpu.busy_share,
                celsius=gpu.celsius,
                slowed_by=gpu.slowed_by,
                errors_not_corrected=gpu.errors_not_corrected,
                **where,
            )


def _only_user(gpu: Gpu, tasks: Mapping[TaskId, Watched]) -> TaskId | None:
    users = [task for task, one in tasks.items() if gpu.used_by.keys() & set(one.pids)]
    return users[0] if len(users) == 1 else None
