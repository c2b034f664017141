"""Judges Holdfast on a tf.estimator job of TensorFlow 2.15: `python -m bench.estimator`.

Holdfast stays in its own environment; the tasks run in another one, with the last TensorFlow that
has estimators. One task is struck while it trains, as in bench/running.py, and nobody in a run
of its own.
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

from bench.cluster import HERE, WORKLOADS, Workload
from bench.output.envs import NotAvailableError, bin_of
from bench.running import conclude, line, show
from bench.striking import Scenario, strike

NAME = "estimator"


@dataclass(frozen=True, slots=True)
class EstimatorWorkload(Workload):
    """Its interpreter is not ours, and it has an evaluator."""

    def command(self, *options: str) -> list[str]:
        program = HERE / "workloads" / f"{self.program}.py"
        return [str(bin_of("tensorflow-2.15") / "python"), str(program), *self.options, *options]

    def run_options(self, roles: Mapping[str, int] | None = None) -> list[str]:
        """For `holdfast run`; the evaluator is in no cluster, and so in no `roles`."""
        return [*Workload.run_options(self, roles), "--evaluator"]


ESTIMATOR = partial(Scenario, workload=NAME)
SCENARIOS = (
    ESTIMATOR(strike="nothing", task="worker:0"),
    ESTIMATOR(strike="killed", task="ps:0"),
    ESTIMATOR(strike="stopped", task="worker:0"),
    ESTIMATOR(strike="exception", task="worker:0"),
)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="of the scenarios' names")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="journals, as fixtures have them")
    asked = parser.parse_args()
    WORKLOADS[NAME] = EstimatorWorkload(NAME, {"chief": 1, "ps": 1, "worker": 1})
    try:
        bin_of("tensorflow-2.15")
    except NotAvailableError as error:
        print(f"not measured: TensorFlow 2.15 cannot be installed here: {error}")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="holdfast-estimator-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    print(line("scenario", "expected", "told first", "s", ""))
    chosen = [one for one in SCENARIOS if fnmatch(one.name, asked.only)]
    began_s = time.monotonic()
    rows = [
        show(strike(one, folder, asked.keep), number, len(chosen))
        for number, one in enumerate(chosen, 1)
    ]
    return conclude(rows, folder, took_s=time.monotonic() - began_s)


if __name__ == "__main__":
    sys.exit(main())
