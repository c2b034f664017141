"""Judges Holdfast on programs of other frameworks and versions: `python -m bench.foreign`.

A tf.estimator job of TensorFlow 2.15, the last that has estimators; a PyTorch job; a JAX job.
Holdfast stays in its own environment, and the tasks run in theirs. One task is struck while it
trains, as in bench/running.py, and nobody in a run of its own.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from bench.cluster import WORKLOADS, Workload
from bench.output.envs import NotAvailableError, bin_of
from bench.running import conclude, line, show
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="of the scenarios' names")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="journals, as fixtures have them")
    asked = parser.parse_args()
    WORKLOADS.update(FOREIGN)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-foreign-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    print(line("scenario", "expected", "told first", "s", ""))
    chosen = [one for one in SCENARIOS if fnmatch(one.name, asked.only)]
    began_s = time.monotonic()
    rows = [
        show(struck(one, folder, asked.keep), number, len(chosen))
        for number, one in enumerate(chosen, 1)
    ]
    code = conclude(rows, folder, took_s=time.monotonic() - began_s)
    return code or int(any(row.lacks for row in rows))


def struck(scenario: Scenario, folder: Path, keep: Path | None) -> Row:
    env = WORKLOADS[scenario.workload].env
    try:
        bin_of(env)
    except NotAvailableError as error:
        lacks = f"{env} cannot be installed here: {error}"
        return Row(scenario=scenario.name, expected=str(scenario.expected), lacks=lacks)
    return strike(scenario, folder, keep)


if __name__ == "__main__":
    sys.exit(main())
