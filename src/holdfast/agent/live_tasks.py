"""The processes of a run's tasks that live on this host, found by its journal and proven."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskStarted
from holdfast.probes.process import children_by_parent, descendants, stat_of
from holdfast.probes.trainer import training_process

ENVIRON_BYTES_MAX = 1 << 20
STARTED_WITHIN_S = 5.0
_RUN_DIR = b"HOLDFAST_RUN_DIR="
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class LiveTasks:
    """Which process to look at for each task, and why there is none for the others."""

    pids: dict[TaskId, int]
    missing: dict[TaskId, str]


def live_tasks(facts: Iterable[Fact], run_dir: Path, *, host: str) -> LiveTasks:
    """Of the newest attempt. A process that only has a task's old number is not taken for it."""
    evidence = Evidence(facts)
    children = children_by_parent()
    pids: dict[TaskId, int] = {}
    missing: dict[TaskId, str] = {}
    started = {fact.task: fact for fact in evidence.of(TaskStarted) if fact.task}
    for task in evidence.tasks:
        fact = started.get(task)
        exited = evidence.exit_of(task)
        if fact is None:
            missing[task] = "it was never started"
        elif exited is not None and exited.at_s >= fact.at_s:
            missing[task] = "it has ended"
        elif fact.host != host:
            missing[task] = f"it runs on {fact.host}: look there"
        elif not _is_same(fact, task, run_dir, evidence.began_unix_s()):
            missing[task] = f"its process {fact.pid} is gone"
        else:
            below = [process.pid for process in descendants(fact.pid, children)]
            pids[task], _ = training_process([fact.pid, *below])
    return LiveTasks(pids, missing)


def _is_same(fact: TaskStarted, task: TaskId, run_dir: Path, began_unix_s: float) -> bool:
    """By the names that we gave it; where these cannot be read, by when it was started."""
    stat = stat_of(fact.pid)
    if stat is None or stat.state == "Z":
        return False
    try:
        with Path(f"/proc/{fact.pid}/environ").open("rb") as file:
            given = file.read(ENVIRON_BYTES_MAX).split(b"\0")
    except OSError:
        since_boot_s = float(Path("/proc/uptime").read_text().split()[0])
        age_s = since_boot_s - stat.started_ticks / _TICKS_PER_S
        return abs(age_s - (time.time() - began_unix_s - fact.at_s)) <= STARTED_WITHIN_S
    folders = [entry[len(_RUN_DIR) :] for entry in given if entry.startswith(_RUN_DIR)]
    here = any(Path(os.fsdecode(folder)).resolve() == run_dir.resolve() for folder in folders)
    return here and f"HOLDFAST_TASK={task}".encode() in given
