"""Healthy training under bad conditions: nobody may be accused. `python -m bench.soak`.

Both cores are taken by other people's programs, there is a checkpoint every 20 s, the first
step takes 90 s, an evaluation holds up everybody for 60 s (Keras' own: a validation after each
epoch of two minutes), and now and then the supervisor and its children stand still for two
seconds.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.blows import hogged, supervisor_paused
from bench.cluster import WORKLOADS, Workload
from bench.output.envs import lack_of
from bench.struck import Stage, StruckJob

# Keras 3 cannot fit under this strategy: it has the environment of the last TensorFlow that can.
KERAS = Workload("keras_fit", {"worker": 2}, env="tensorflow-2.15")
PROGRAMS = {**WORKLOADS, "keras": KERAS}
TRUE_OF_LOAD = frozenset({"cpu-starved"})  # what a warning may say of such a machine
HOGS_A_CORE = 1
PAUSE_AFTER_S = (15.0, 45.0)
OPTIONS = (
    *("--steps", "100000000", "--step-ms", "200", "--step-by", "computing"),
    *("--first-step-s", "90", "--save-every-s", "20"),
    *("--evaluate-every-s", "120", "--evaluate-for-s", "60"),
)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and all is undone
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="of all workloads together")
    parser.add_argument("--workload", choices=sorted(PROGRAMS), action="append")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="journals, as fixtures have them")
    asked = parser.parse_args()
    chosen = asked.workload or ["keras", "mirrored", "parameter_server", "session"]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    well = [soak(name, 60 * asked.minutes / len(chosen), asked.keep) for name in chosen]
    print("no false alarm" if all(well) else "FALSE ALARMS")
    return 0 if all(well) else 1


def soak(workload: str, for_s: float, keep: Path | None) -> bool:
    """Whether nobody was accused for so long."""
    program = PROGRAMS[workload]
    if lack := lack_of(program.env):
        print(f"{workload}: not tried: {lack}")
        return False
    folder = Path(tempfile.mkdtemp(prefix=f"holdfast-soak-{workload}-"))
    stage = Stage(workload=workload, task="worker:0", folder=folder, program=program)
    stage.checkpoint_dir.mkdir()
    stage.options = [*OPTIONS, "--checkpoint-dir", str(stage.checkpoint_dir)]
    began_s = time.monotonic()
    with StruckJob(stage) as job:
        hogged(job, stage.task, a_core=HOGS_A_CORE)
        pauses = trouble(job, began_s + for_s)
        if keep:
            job.keep(keep / f"soak-{workload}")
        survived = not job.is_over
        steps = job.step(stage.leader)
        job.end()
        job.poll()
        false = [one for one in job.report().get("findings", ()) if is_false(one)]
    told = {(*one.name, one.finding["severity"], one.finding["says"]) for one in job.heard}
    false += [one.finding for one in job.heard if is_false(one.finding)]
    took_s = time.monotonic() - began_s
    print(f"{workload}: {took_s / 60:.1f} min, {steps} steps, {pauses} pauses of the supervisor")
    for cause, culprit, severity, says in sorted(told, key=str):
        print(f"    {severity}: {cause} {culprit}: {says}")
    if not survived or not steps:
        print(f"    the job {'did not train' if survived else 'ended'}: see {folder}")
    return survived and steps > 0 and not false


def is_false(finding: Mapping[str, Any]) -> bool:
    """Any error, and any warning that is not a true one about the load; a notice accuses nobody."""
    warns = finding["severity"] == "warning" and finding["cause"] not in TRUE_OF_LOAD
    return finding["severity"] == "error" or warns


def trouble(job: StruckJob, until_s: float) -> int:
    """Stop our own processes now and then; how often."""
    chance = random.Random(1)  # the same pauses every time
    pauses = 0
    while time.monotonic() < until_s and not job.is_over:
        wait_s = min(chance.uniform(*PAUSE_AFTER_S), until_s - time.monotonic())
        job.until(lambda: False, wait_s)
        if not job.is_over:
            supervisor_paused(job, job.stage.task)
            pauses += 1
    return pauses


if __name__ == "__main__":
    sys.exit(main())
