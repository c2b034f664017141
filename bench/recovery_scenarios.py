"""Which failures a job must come back from: on whom, in which workload, and what is right."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from bench.cluster import Workload
from bench.fault import Told, told
from bench.striking import STRIKES

SAVE_EVERY_STEPS = 20
HEALS_S = 25.0  # what is cut is mended by somebody
RELAUNCHES_MAX = 3
LOOP_CODE = 1
KILLED_CODE = 137
Remedies = tuple[str, ...]

PROGRAMS = {
    "mirrored": Workload("mirrored", {"worker": 2}),
    "parameter_server": Workload("parameter_server", {"chief": 1, "ps": 1, "worker": 1}),
    "session": Workload("session", {"ps": 1, "worker": 2}),
    "estimator": Workload(
        "estimator",
        {"chief": 1, "ps": 1, "worker": 1},
        options=("--hook",),
        env="tensorflow-2.15",
    ),
}
ROLES = {
    "mirrored": ("worker:0", "worker:1"),
    "parameter_server": ("chief:0", "worker:0", "ps:0"),
    "session": ("worker:0", "worker:1", "ps:0"),
}
# Who may come back while the others train on.
ALONE = {("parameter_server", "worker:0"), ("session", "worker:1"), ("estimator", "worker:0")}
# Each task of these takes its own steps; several of them count together.
STEP_MS = {"mirrored": 50, "parameter_server": 50, "session": 100, "estimator": 100}
STEPS = 140
STEPS_GROWING = 160  # until one that grows has reached its limit
# So many that one who comes back alone still finds something to do.
STEPS_OF_OTHERS = {"session": 320, "estimator": 420}
# By what name a strike goes here, and after how long somebody undoes it.
BLOWS = {
    "killed": ("killed", math.inf),
    "out-of-memory": ("out-of-memory", math.inf),
    "stopped": ("stopped", math.inf),
    "partition": ("isolated", HEALS_S),
}
# A few of them for every change.
QUICK = (
    "killed-mirrored-worker-1",
    "killed-parameter_server-worker-0",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One failure, and what must come of it."""

    name: str
    workload: str
    task: str  # who is struck, or fails by itself
    told: Told  # of what cause every decision must be
    remedies: tuple[Remedies, ...]  # each of these is right; what only waits is not counted
    strike: str = ""  # of bench/strikes; empty: the program does it by itself
    heals_s: float = math.inf
    options: tuple[str, ...] = ()  # of the workload
    relaunches_max: int = RELAUNCHES_MAX
    exit_code: int = 0
    intervals_lost_max: int = 1
    passes_over: bool = False  # whether the newest checkpoint is not to be used

    @property
    def step_s(self) -> float:
        return STEP_MS[self.workload] / 1000

    @property
    def steps(self) -> int:
        alone = (self.workload, self.task) in ALONE
        steps = STEPS_OF_OTHERS.get(self.workload, STEPS) if alone else STEPS
        return steps + (STEPS_GROWING if self.strike == "out-of-memory" else 0)

    @property
    def takes_steps(self) -> bool:
        """Whether the task itself does; the workers of a coordinator only serve."""
        serves = self.workload == "parameter_server" and self.task.startswith("worker")
        return not serves and not self.task.startswith("ps")

    def lacks(self) -> str:
        return STRIKES[self.strike].lacks() if self.strike else ""

    def run_options(self, checkpoint_dir: Path) -> list[str]:
        """For `holdfast run`."""
        options = ["--on-failure", "recover", "--max-relaunches", str(self.relaunches_max)]
        return [*options, "--checkpoint-dir", str(checkpoint_dir)]


def cases() -> list[Case]:
    return [*_struck(), *_estimator(), *_that_always_die(), *_damaged()]


def _struck() -> Iterator[Case]:
    """Every blow on every role of every workload."""
    for blow, (workload, tasks) in product(BLOWS, ROLES.items()):
        for task in tasks:
            yield _blow(blow, workload, task)


def _estimator() -> Iterator[Case]:
    yield _blow("killed", "estimator", "worker:0")
    yield _blow("killed", "estimator", "ps:0")


def _blow(blow: str, workload: str, task: str) -> Case:
    strike, heals_s = BLOWS[blow]
    return Case(
        name=f"{blow}-{workload}-{task.replace(':', '-')}",
        workload=workload,
        task=task,
        strike=strike,
        heals_s=heals_s,
        told=STRIKES[strike].told(workload, task),
        remedies=_right(blow, workload, task),
    )


def _right(blow: str, workload: str, task: str) -> tuple[Remedies, ...]:
    """A cut that heals may be waited for; and who is started again meanwhile may fail again."""
    remedy = "restart" if (workload, task) in ALONE else "relaunch"
    if blow != "partition":
        return ((remedy,),)
    again = ((remedy,), (remedy, remedy), (remedy, "relaunch"), ("relaunch",))
    # Mirrored workers die of a cut before it heals.
    return tuple(dict.fromkeys(again if workload == "mirrored" else ((), *again)))


def _that_always_die() -> Iterator[Case]:
    """The budget holds, and a loop is seen as one."""
    dying = partial(
        Case, workload="mirrored", task="worker:1", told=told("killed-by-signal", "worker:1")
    )
    kills = ("--fail-how", "sigkill-self", "--fail-task", "worker:1")
    yield dying(
        name="always-dies-later-mirrored-worker-1",
        options=(*kills, "--fail-at", "50", "--fail-later-by", "25"),
        relaunches_max=2,
        remedies=(("relaunch", "relaunch", "stop"),),
        exit_code=KILLED_CODE,
    )
    yield dying(
        name="always-dies-there-mirrored-worker-1",
        options=(*kills, "--fail-at", "50"),
        remedies=(("relaunch", "stop"),),
        exit_code=LOOP_CODE,
    )


def _damaged() -> Iterator[Case]:
    """Who leads is killed, and what it saved last cannot be used."""
    for how in ("cut-shard", "no-index", "empty-shard"):
        yield Case(
            name=f"{how}-mirrored-worker-0",
            workload="mirrored",
            task="worker:0",
            told=told("killed-by-signal", "worker:0"),
            options=(
                *("--fail-how", how, "--fail-task", "worker:0"),
                *("--fail-at", "70", "--fail-attempts", "1"),
            ),
            remedies=(("relaunch",),),
            intervals_lost_max=2,
            passes_over=True,
        )
