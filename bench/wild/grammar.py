"""What wild jobs are made of: their programs, and the ways to stand still, to die and to pause."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from bench.cluster import Workload
from bench.output.envs import bin_of

sys.path.insert(0, str(Path(__file__).parent / "programs"))  # where these find each other

import ways_to_die
import ways_to_pause
import ways_to_stand_still
from act import Plan
from way import Way

__all__ = ["PROGRAMS", "WAYS", "Kind", "Plan", "Program", "WildWorkload"]
PROGRAMS_DIR = Path(__file__).parent / "programs"


class Kind(StrEnum):
    STANDS_STILL = "stands-still"
    DIES = "dies"
    PAUSES = "pauses"  # and is healthy


WAYS: Mapping[Kind, Mapping[str, Way]] = {
    Kind.STANDS_STILL: ways_to_stand_still.WAYS,
    Kind.DIES: ways_to_die.WAYS,
    Kind.PAUSES: ways_to_pause.WAYS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A training program, and what can happen in it."""

    file: str
    roles: tuple[tuple[tuple[str, int], ...], ...]  # the sizes it may have
    weight: int  # how often it is drawn
    env: str = ""  # the name of its environment, where it is not ours
    options: tuple[str, ...] = ()  # of `holdfast run`
    serving: frozenset[str] = frozenset()  # roles whose main thread only serves the others
    lockstep: bool = True  # whether all wait for each: else who leaves with 0 may be right
    where: tuple[str, ...] = ("loop", "thread")
    has_numpy: bool = True
    steps_least: int = 1


def workers(*sizes: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    return tuple((("worker", size),) for size in sizes)


PROGRAMS = {
    "mirrored": Program(
        file="mirrored_loop",
        roles=workers(2, 2, 3, 3, 4),
        weight=25,
        where=("loop", "loop", "thread", "input", "graph"),
    ),
    "plain": Program(
        file="plain_loop",
        roles=workers(1),
        weight=8,
        where=("loop", "loop", "thread", "input", "graph"),
    ),
    "parameter-servers": Program(
        file="parameter_servers",
        roles=(
            (("chief", 1), ("ps", 1), ("worker", 1)),
            (("chief", 1), ("ps", 1), ("worker", 2)),
        ),
        weight=17,
        serving=frozenset({"ps", "worker"}),
    ),
    "session": Program(
        file="monitored_session",
        roles=((("ps", 1), ("worker", 1)), (("ps", 1), ("worker", 2)), (("ps", 1), ("worker", 3))),
        weight=12,
        serving=frozenset({"ps"}),
        lockstep=False,
    ),
    "keras": Program(
        file="keras_with_validation",
        roles=workers(2, 3),
        weight=13,
        env="tensorflow-2.15",
        where=("loop", "loop", "thread", "input"),
        steps_least=10,
    ),
    "estimator": Program(
        file="estimator_job",
        roles=((("chief", 1), ("ps", 1), ("worker", 1)),),
        weight=7,
        env="tensorflow-2.15",
        options=("--evaluator",),
        serving=frozenset({"ps"}),
        lockstep=False,
    ),
    "torch": Program(
        file="torch_ddp",
        roles=workers(2, 3, 4),
        weight=10,
        env="torch",
        options=("--for", "torch"),
        has_numpy=False,
    ),
    "jax": Program(
        file="jax_processes", roles=workers(2, 3), weight=8, env="jax", options=("--for", "jax")
    ),
}


@dataclass(frozen=True, slots=True)
class WildWorkload(Workload):
    """As `bench.struck` starts it."""

    more: tuple[str, ...] = field(default=())  # options of `holdfast run`

    def command(self, *options: str) -> list[str]:
        """Of one task."""
        python = str(bin_of(self.env) / "python") if self.env else sys.executable
        return [python, str(PROGRAMS_DIR / f"{self.program}.py"), *options]

    def run_options(self, roles: Mapping[str, int] | None = None) -> list[str]:
        """For `holdfast run`."""
        return [*Workload.run_options(self, roles), *self.more]
