"""This host's clock: what the kernel thinks of it, and how it stands to a shared one."""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from holdfast.model.facts import ClockMeasured
from holdfast.model.mounts import mount_in
from holdfast.probes import said_in_time

CLOCK_WAIT_S = 0.8
MOUNTINFO_BYTES_MAX = 4 << 20
_TRIAL = str(Path(__file__).with_name("folder_trial.py"))
_STA_UNSYNC = 0x40


class _Timex(ctypes.Structure):
    """The beginning of the kernel's struct timex, and room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def measure_clock(where: dict[str, Any], folder: str = "") -> ClockMeasured:
    """With a directory that other hosts share: how far this clock is ahead of its server's.

    Each host compares itself with the same third clock, so none has to ask another.
    """
    synchronised = kernel_is_synchronised()
    seen = _against_server(folder) if folder else {}
    if "offset_s" not in seen:
        return ClockMeasured(synchronised=synchronised, **where)
    return ClockMeasured(
        against=_source(seen["resolved"]),
        offset_s=round(seen["offset_s"], 6),
        error_s=round(seen["error_s"], 6),
        synchronised=synchronised,
        **where,
    )


def kernel_is_synchronised() -> bool | None:
    """Whether somebody keeps the clock right, by the kernel's word; None: it does not say."""
    found = _Timex()
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
    except (AttributeError, OSError):
        return None
    if adjtimex(ctypes.byref(found)) < 0:
        return None
    return not found.status & _STA_UNSYNC


def _against_server(folder: str) -> dict[str, Any]:
    command = (sys.executable, "-I", "-S", _TRIAL, "clock", folder)
    said = said_in_time(command, wait_s=CLOCK_WAIT_S)
    if said.code != 0:
        return {}
    return {
        name: value for line in said.out.splitlines() for name, value in json.loads(line).items()
    }


def _source(resolved: str) -> str:
    """What the directory is mounted from: server:/export is the same on all hosts."""
    try:
        with Path("/proc/self/mountinfo").open("rb") as file:
            mountinfo = file.read(MOUNTINFO_BYTES_MAX).decode(errors="replace")
    except OSError:
        return resolved
    mount = mount_in(mountinfo, resolved)
    return mount.source if mount else resolved
