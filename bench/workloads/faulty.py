"""The options every workload takes: its size, its pace, and the fault it is told to commit."""

import argparse
import math
import os
from collections.abc import Collection
from dataclasses import dataclass

DAMAGES = ("cut-shard", "no-index", "empty-shard")  # of the newest checkpoint; then it is killed
FAILURES = (
    *("exception", "exit0", "exit1", "segfault", "abort", "sigkill-self"),
    *("deadlock", "self-deadlock", "orphaned-lock", "livelock"),
    *("straggler", "slow-input", "flood", "grow", "many-files"),
    *DAMAGES,
)
DIFFERENCES = (
    *("shape", "dtype", "graph"),
    *("loss", "optimizer", "rate"),
    *("element", "batch", "sharding", "shard"),
    *("version", "silence"),  # a version that is only pretended; who does not compare at all
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What this task was told to do; faults meant for other tasks are already left out."""

    steps: int
    step_pause_s: float
    step_compute_s: float
    first_step_s: float
    evaluate_every_s: float  # infinity: never
    evaluate_for_s: float
    checkpoint_dir: str | None
    save_every_s: float | None  # None: every so many steps
    save_every_steps: int | None  # None: as many as the workload thinks right
    report_every_steps: int | None  # the same
    notes: str | None  # the folder in which each task writes down what it does
    fail_how: str
    fail_at_step: float  # infinity: never
    fail_after_s: float  # infinity: never
    fail_when: str | None  # once this file is there
    fault_at_file: str | None  # where to write down when it happened
    slow_factor: float
    slow_input_s: float
    grow_mb_per_s: float
    grows_from_start: bool
    differs: str  # one of DIFFERENCES, or empty
    flags: frozenset[str]  # those of the workload's own that were given

    @property
    def step_s(self) -> float:
        return self.step_pause_s + self.step_compute_s


def options(*, stepless: Collection[str], flags: Collection[str] = ()) -> Options:
    """Read the command line; a task whose role is stepless can only fail outside of steps."""
    parser = _parser()
    for flag in flags:
        parser.add_argument(flag, action="append_const", const=flag, dest="flags", default=[])
    given = parser.parse_args()
    _refuse_nonsense(parser, given, stepless)
    here = os.environ.get("HOLDFAST_TASK", "")  # faults have no task to strike without it
    attempt = int(os.environ.get("HOLDFAST_ATTEMPT", "1"))
    fails = given.fail_task == here and attempt <= given.fail_attempts
    step_s = given.step_ms / 1000
    return Options(
        steps=given.steps,
        step_pause_s=step_s if given.step_by == "waiting" else 0.0,
        step_compute_s=step_s if given.step_by == "computing" else 0.0,
        first_step_s=given.first_step_s,
        evaluate_every_s=given.evaluate_every_s,
        evaluate_for_s=given.evaluate_for_s,
        checkpoint_dir=given.checkpoint_dir,
        save_every_s=given.save_every_s,
        save_every_steps=given.save_every_steps,
        report_every_steps=given.report_every_steps,
        notes=given.notes,
        fail_how=given.fail_how,
        fail_at_step=given.fail_at + (attempt - 1) * given.fail_later_by if fails else math.inf,
        fail_after_s=given.fail_after_s if fails else math.inf,
        fail_when=given.fail_when if fails else None,
        fault_at_file=given.fault_at_file if fails or given.differ_task == here else None,
        slow_factor=given.slow_factor,
        slow_input_s=given.slow_input_s,
        grow_mb_per_s=given.grow_mb_per_s,
        grows_from_start=given.grow_task == here and given.grow_mb_per_s > 0,
        differs=given.differ if given.differ_task == here else "",
        flags=frozenset(getattr(given, "flags", ())),
    )


def _refuse_nonsense(
    parser: argparse.ArgumentParser, given: argparse.Namespace, stepless: Collection[str]
) -> None:
    fails = given.fail_when or (given.fail_at, given.fail_after_s) != (math.inf, math.inf)
    if fails and given.fail_task is None:
        parser.error("nobody was told to fail: add --fail-task role:index")
    if given.grow_mb_per_s > 0 and given.grow_task is None and given.fail_how != "grow":
        parser.error("nobody was told to grow: add --grow-task role:index")
    if given.fail_at != math.inf and given.fail_task.partition(":")[0] in stepless:
        parser.error(f"{given.fail_task} takes no steps: give --fail-after-s, not --fail-at")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--step-ms", type=float, default=10, help="how long a step takes")
    parser.add_argument("--step-by", choices=("waiting", "computing"), default="waiting")
    parser.add_argument("--first-step-s", type=float, default=0, help="of tracing and compiling")
    parser.add_argument("--evaluate-every-s", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--evaluate-for-s", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--checkpoint-dir", help="save here, and resume from here")
    parser.add_argument("--save-every-s", type=float, metavar="SECONDS")
    parser.add_argument("--save-every-steps", type=int, metavar="STEPS")
    parser.add_argument("--report-every-steps", type=int, metavar="STEPS")
    parser.add_argument("--notes", metavar="FOLDER", help="write down each step and save here")
    parser.add_argument("--fail-at", type=int, default=math.inf, metavar="STEP")
    parser.add_argument("--fail-later-by", type=int, default=0, help="steps, with each attempt")
    parser.add_argument("--fail-attempts", type=int, default=math.inf, help="the first so many")
    parser.add_argument("--fail-after-s", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--fail-when", metavar="FILE", help="as soon as this file is there")
    parser.add_argument("--fail-how", choices=FAILURES, default="exception")
    parser.add_argument("--fail-task", metavar="ROLE:INDEX")
    parser.add_argument("--fault-at-file", metavar="FILE", help="gets the moment, in Unix time")
    parser.add_argument("--slow-factor", type=float, default=10, help="of a straggler")
    parser.add_argument("--slow-input-s", type=float, default=0, help="per batch, once it fails")
    parser.add_argument("--grow-mb-per-s", type=float, default=0)
    parser.add_argument("--grow-task", metavar="ROLE:INDEX", help="from the start")
    parser.add_argument("--differ", choices=DIFFERENCES, default="shape")
    parser.add_argument("--differ-task", metavar="ROLE:INDEX")
    return parser
