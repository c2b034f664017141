"""What NVIDIA's GPUs of this host say of themselves; silent where there are none."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GPUS_MAX = 32
PROCESSES_MAX = 256
NAME_LENGTH_MAX = 64
# Of the reasons why a GPU runs slower than it could, those that are a fault of the host:
# NVML calls them SwThermalSlowdown, HwThermalSlowdown and HwPowerBrakeSlowdown.
_HOT = 0x20 | 0x40
_POWER_BRAKE = 0x80


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    name: str
    memory_bytes: int
    memory_used_bytes: int
    busy_share: float  # -1: it does not say
    celsius: int  # -1: it does not say
    slowed_by: str  # heat, power; empty: nothing
    errors_not_corrected: int  # of its memory, since the driver was loaded; -1: not counted
    used_by: dict[int, int]  # process -> bytes


class Gpus:
    """NVML is loaded when this is made, if it is there, and kept: loading takes a while."""

    def __init__(self) -> None:
        self._nvml: Any = None
        try:
            nvml: Any = importlib.import_module("pynvml")  # an extra: most hosts have no GPU
            nvml.nvmlInit()
        except Exception:  # noqa: BLE001 - without module, driver or device there is nothing to see
            return
        self._nvml = nvml

    def __bool__(self) -> bool:
        return self._nvml is not None

    def look(self) -> Iterator[Gpu]:
        """Each GPU now. One that has fallen off the bus is left out, and the kernel's log tells."""
        if self._nvml is None:
            return
        count = self._asked(0, "nvmlDeviceGetCount")
        for index in range(min(count, GPUS_MAX)):
            handle = self._asked(None, "nvmlDeviceGetHandleByIndex", index)
            if handle is not None:
                yield self._gpu(index, handle)

    def _gpu(self, index: int, handle: Any) -> Gpu:
        memory = self._asked(None, "nvmlDeviceGetMemoryInfo", handle)
        rates = self._asked(None, "nvmlDeviceGetUtilizationRates", handle)
        reasons = self._asked(0, "nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        name = self._asked("", "nvmlDeviceGetName", handle)
        return Gpu(
            index=index,
            name=(name.decode(errors="replace") if isinstance(name, bytes) else name)[
                :NAME_LENGTH_MAX
            ],
            memory_bytes=memory.total if memory else 0,
            memory_used_bytes=memory.used if memory else 0,
            busy_share=rates.gpu / 100 if rates else -1.0,
            celsius=self._asked(-1, "nvmlDeviceGetTemperature", handle, 0),
            slowed_by="heat" if reasons & _HOT else "power" if reasons & _POWER_BRAKE else "",
            errors_not_corrected=self._asked(-1, "nvmlDeviceGetTotalEccErrors", handle, 1, 0),
            used_by={
                process.pid: process.usedGpuMemory or 0
                for process in self._asked([], "nvmlDeviceGetComputeRunningProcesses", handle)[
                    :PROCESSES_MAX
                ]
            },
        )

    def _asked(self, default: Any, call: str, *arguments: Any) -> Any:
        """What NVML says; the default where this GPU or this driver does not know."""
        try:
            return getattr(self._nvml, call)(*arguments)
        except (self._nvml.NVMLError, AttributeError):
            return default
