"""What can happen to a job that already trains: the shape of the files in bench/strikes.

A fault of bench/faults is in how a task is started, and stays; a strike comes from outside at
a moment, or is committed by the program in the middle of its work, and has a first second.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from bench.fault import SILENT, Told
from bench.network import available
from bench.output.envs import lack_of
from bench.surroundings import CGROUPS

if TYPE_CHECKING:
    from bench.struck import Stage, StruckJob

STRUCK = "the struck task"
DEATH_S, STOPPED_S, STUCK_S = 1.0, 5.0, 10.0  # how soon a word must come
SLOW_S = 45.0  # slowness is proven over many steps
STUCK_STEPS, SLOW_STEPS = 5, 20  # or so many of the job's own steps, where they take longer

Surroundings = Callable[["Stage"], contextlib.AbstractContextManager[None]]


class Moment(StrEnum):
    """When it comes."""

    START = "start"  # while TensorFlow is being imported
    FIRST_STEP = "first-step"
    MID_RUN = "mid-run"
    CHECKPOINT = "checkpoint"  # while one is being written
    END = "end"  # a few steps before the last one


class Since(StrEnum):
    """What the seconds are counted from."""

    STRIKE = "the strike"
    DEATH = "the death of the struck task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One thing that happens: done from outside, or by the program when it is told to."""

    says: Mapping[str, Told]  # by workload/role, by workload, or for all the others: "*"
    do: Callable[["StruckJob", str], None] | None = None
    commits: str = ""  # --fail-how of the workload
    options: tuple[str, ...] = ()  # others of the workload
    around: Surroundings = lambda _stage: contextlib.nullcontext()
    within_s: float = STOPPED_S
    within_steps: float = 0
    since: Since = Since.STRIKE
    foretold: tuple[str, ...] = ()  # causes that may be told of the struck task before
    live: bool = True  # False: it may be said in the report alone, after the whole time
    watch_s: float = 15.0  # how long silence must last, where nothing must be said
    needs: tuple[str, ...] = ()  # programs, and cgroup controllers with a slash before them
    env: str = ""  # an environment of bench/output/envs.py, beside ours

    def lacks(self) -> str:
        """Why this machine cannot strike so; empty: it can."""
        if lacks := lack_of(self.env):
            return lacks
        if self.needs and os.geteuid() != 0:
            return "takes root"
        for need in self.needs:
            if need == "ip" and (why_not := available()):
                return why_not
            controller = CGROUPS / need[1:]
            found = os.access(controller, os.W_OK) if need[0] == "/" else shutil.which(need)
            if not found:
                return (
                    f"takes the cgroup controller {controller}"
                    if need[0] == "/"
                    else f"takes {need}"
                )
        return ""

    def told(self, workload: str, task: str) -> Told:
        """What must be said of it when this task of this workload is struck."""
        role = task.partition(":")[0]
        found = next(
            self.says[key] for key in (f"{workload}/{role}", workload, "*") if key in self.says
        )
        return replace(found, culprits=tuple(task if c == STRUCK else c for c in found.culprits))


def struck(causes: str) -> Told:
    """`struck("killed-by-signal")`: one of these causes, and the culprit is the struck task."""
    return Told(tuple(causes.split()), (STRUCK,))


def harmless(do: Callable[["StruckJob", str], None] | None = None, **rest: str) -> Strike:
    """Nobody may be accused of it."""
    return Strike(says={"*": SILENT}, do=do, commits=rest.get("commits", ""))


def committed(how: str, causes: str, *, since: Since = Since.DEATH) -> Strike:
    """The program does it to itself, and dies or stands still."""
    dies = since is Since.DEATH
    return Strike(
        says={"*": struck(causes)},
        commits=how,
        within_s=DEATH_S if dies else STUCK_S,
        within_steps=0 if dies else STUCK_STEPS,
        since=since,
    )
