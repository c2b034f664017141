"""Judges Holdfast on programs of other frameworks and versions: `python -m bench.foreign`.

A tf.estimator job of TensorFlow 2.15, the last that has estimators; a PyTorch job; a JAX job.
Holdfast stays in its own environment, and the tasks run in theirs. One task is struck while it
trains, as in bench/running.py, and nobody in a run of its own.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.cluster import WORKLOADS, Workload
from bench.judging import Table, is_asked, options
from bench.output.envs import lack_of
from bench.running import HEADS, WIDTHS, conclude, show
from bench.striking import Row, Scenario, strike


@dataclass(frozen=True, slots=True)
class EstimatorWorkload(Workload):
    """It has an evaluator."""

    def run_options(self, roles: Mapping[str, int] | None = None) -> list[str]:
        """For `holdfast run`; the evaluator is in no cluster, and so in no `roles`."""
        return [*Workload.run_options(self, roles), "--evaluator"]


@dataclass(frozen=True, slots=True)
class CountingWorkload(Workload):
    """Its processes are counted: `holdfast run` says so in the words of their framework."""

    def run_options(self, roles: Mapping[str, int] | None = None) -> list[str]:
        """For `holdfast run`; the framework has the name of its environment."""
        return [*Workload.run_options(self, roles), "--for", self.env]


FOREIGN = {
    "estimator": EstimatorWorkload(
        "estimator", {"chief": 1, "ps": 1, "worker": 1}, env="tensorflow-2.15"
    ),
    "torch": CountingWorkload("torch_mirrored", {"worker": 3}, env="torch"),
    "jax": CountingWorkload("jax_mirrored", {"worker": 3}, env="jax"),
}
ESTIMATOR, TORCH, JAX = (partial(Scenario, workload=name) for name in FOREIGN)
SCENARIOS = (
    ESTIMATOR(strike="nothing", task="worker:0"),
    ESTIMATOR(strike="killed", task="ps:0"),
    ESTIMATOR(strike="stopped", task="worker:0"),
    ESTIMATOR(strike="exception", task="worker:0"),
    *(
        framework(strike=name, task=task)
        for framework in (TORCH, JAX)
        for name, task in (
            ("nothing", "worker:1"),
            ("killed", "worker:1"),
            ("stopped", "worker:2"),
            ("deadlock", "worker:1"),
            ("exception", "worker:1"),
        )
    ),
)


def main() -> int:
    asked = options(__doc__, has_quick=False).parse_args()
    WORKLOADS.update(FOREIGN)
    chosen = [one for one in SCENARIOS if is_asked(one.name, one.strike, asked)]
    if asked.list:
        print("\n".join(f"{one.name:{WIDTHS[0]}} {one.expected}" for one in chosen))
        return 0
    table = Table("foreign", HEADS, WIDTHS)
    rows = [
        show(table, struck(one, table.folder, asked.keep), number, len(chosen))
        for number, one in enumerate(chosen, 1)
    ]
    return conclude(table, rows) or int(any(row.lacks for row in rows))


def struck(scenario: Scenario, folder: Path, keep: Path | None) -> Row:
    if lacks := lack_of(WORKLOADS[scenario.workload].env):
        return Row(scenario=scenario.name, expected=str(scenario.expected), lacks=lacks)
    return strike(scenario, folder, keep)


if __name__ == "__main__":
    sys.exit(main())
