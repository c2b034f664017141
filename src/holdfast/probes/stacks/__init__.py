"""What the Python threads of a process are doing, without stopping it for a moment."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.model.watch_facts import ThreadStack
from holdfast.probes.stacks.fault_dump import ask_for_dump, is_armed
from holdfast.probes.stacks.held_addresses import held_addresses
from holdfast.probes.stacks.native import native_stacks
from holdfast.probes.stacks.py_spy import NoPySpy, NotPermitted, py_spy_threads
from holdfast.probes.stacks.source import Sources

__all__ = ["NoPySpy", "Sources", "Stacks", "held_addresses", "native_stacks", "python_stacks"]


@dataclass(frozen=True, slots=True)
class Stacks:
    """The threads, the main one first. None of them: we could not look, and `why` says why."""

    threads: tuple[ThreadStack, ...]
    by: str = "py-spy"
    why: str = ""


def python_stacks(pid: int, sources: Sources, *, dumps: Path | None = None) -> Stacks:
    """By py-spy; where that is missing or forbidden, by what the task was given at its start.

    `dumps` is the folder to which tasks with `holdfast.in_task` write their stacks. Raises
    NoPySpy when neither is there.
    """
    try:
        threads = py_spy_threads(pid, sources)
    except (NoPySpy, NotPermitted) as error:
        if dumps is not None and is_armed(pid, dumps):
            return Stacks(ask_for_dump(pid, dumps, sources), by="faulthandler")
        if isinstance(error, NoPySpy):
            raise
        return Stacks((), why=str(error))
    except OSError as error:
        return Stacks((), why=str(error))
    return Stacks(threads, why="" if threads else "it has no Python threads that could be read")
