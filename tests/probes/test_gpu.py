"""GPUs through a named stand-in for NVIDIA's library: there is no GPU where tests run."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from holdfast.agent.watch_gpu import GpuLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import GpuSampled
from holdfast.probes.gpu import Gpus

TASK = TaskId("worker", 0)


class FakeNvml(ModuleType):
    """Answers as nvidia-ml-py does for two GPUs, of which the second has been lost."""

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.reasons = 0x40
        self.used_by = [4711]

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if index == 1:
            raise self.NVMLError
        return index

    def nvmlDeviceGetMemoryInfo(self, _handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(total=16 << 30, used=15 << 30, free=1 << 30)

    def nvmlDeviceGetUtilizationRates(self, _handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=50, memory=20)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _handle: int) -> int:  # noqa: N802
        return self.reasons

    def nvmlDeviceGetName(self, _handle: int) -> bytes:  # noqa: N802
        return b"Tesla T4"

    def nvmlDeviceGetTemperature(self, _handle: int, _sensor: int) -> int:  # noqa: N802
        return 92

    def nvmlDeviceGetTotalEccErrors(self, *_: int) -> int:  # noqa: N802
        raise self.NVMLError

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: int) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=pid, usedGpuMemory=14 << 30) for pid in self.used_by]


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def seen(look: GpuLook, at_s: float, *pids: int) -> list[GpuSampled]:
    tasks = {
        TaskId("worker", index): Watched(
            task=TaskId("worker", index), pid=pid, address="", streams={}, pids=(pid,), main=pid
        )
        for index, pid in enumerate(pids)
    }
    return [fact for fact in look.look(tasks, at_s) if isinstance(fact, GpuSampled)]


def test_a_host_without_gpus_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert not Gpus()
    assert list(Gpus().look()) == []
    assert seen(GpuLook("host-a"), 1.0, 4711) == []


def test_a_gpu_is_told_with_the_task_that_uses_it(nvml: FakeNvml) -> None:
    (fact,) = seen(GpuLook("host-a"), 1.0, 4711, 12)
    assert (fact.gpu, fact.name, fact.task) == (0, "Tesla T4", TASK)
    assert (fact.busy_share, fact.celsius, fact.slowed_by) == (0.5, 92, "heat")
    assert fact.memory_used_bytes == 15 << 30
    assert fact.errors_not_corrected == -1, "this one does not count them"


def test_a_gpu_of_two_tasks_is_nobodys(nvml: FakeNvml) -> None:
    nvml.used_by = [4711, 12]
    assert [fact.task for fact in seen(GpuLook("host-a"), 1.0, 4711, 12)] == [None]


def test_a_gpu_is_told_again_when_something_has_changed(nvml: FakeNvml) -> None:
    look = GpuLook("host-a")
    assert len(seen(look, 1.0, 4711)) == 1
    assert seen(look, 2.0, 4711) == [], "not at every look"
    assert seen(look, 7.0, 4711) == [], "nothing new"
    nvml.reasons = 0x80
    assert [fact.slowed_by for fact in seen(look, 12.0, 4711)] == ["power"]
    nvml.reasons = 0
    assert [fact.slowed_by for fact in seen(look, 17.0, 4711)] == [""]
    assert len(seen(look, 80.0, 4711)) == 1
