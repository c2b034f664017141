"""Judges recovery on real clusters that fail while they train: `python -m bench.recovering`.

Every case of bench/recovery_scenarios is run for real under `holdfast run --on-failure recover`,
and judged by its run directory and by what its tasks wrote down: the training must come to its
target step and loss, lose at most one checkpoint interval, and have one writer at a time.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bench.judging import Table, is_asked, options
from bench.output.envs import lack_of
from bench.recovered import PARTS, Outcome, Row, judge
from bench.recovery_scenarios import PROGRAMS, QUICK, SAVE_EVERY_STEPS, Case, cases
from bench.striking import STRIKES, TRAINS_S_MAX, fault_options, strike_now
from bench.struck import Stage, StruckJob
from bench.written_down import WrittenDown

STRIKE_STEP = 50  # enough to have learnt something, and saved it
ENDS_S_MAX = 240.0
LOOK_S = 0.1
HEADS = ("scenario", "decided", "lost", *PARTS, "stood", "")
WIDTHS = (39, 48, 5, *(len(part) + 1 for part in PARTS), 6)


def main() -> int:
    asked = options(__doc__).parse_args()
    chosen = [one for one in cases() if is_asked(one.name, one.strike, asked, QUICK)]
    if asked.list:
        print("\n".join(f"{one.name:{WIDTHS[0]}} {_wanted(one)}" for one in chosen))
        return 0
    table = Table("recovering", HEADS, WIDTHS)
    rows = []
    for number, case in enumerate(chosen, 1):
        print(f"    {number} of {len(chosen)}: {case.name}", file=sys.stderr, flush=True)
        rows.append(show(table, bring_back(case, table.folder, asked.keep)))
    return table.conclude(rows)


def bring_back(case: Case, folder: Path, keep: Path | None = None) -> Row:
    """Run it, and judge what came of it."""
    began_s = time.monotonic()
    if lacks := case.lacks() or lack_of(PROGRAMS[case.workload].env):
        return Row(scenario=case.name, lacks=lacks)
    place = folder / case.name
    place.mkdir(parents=True)
    try:
        with _job(case, place) as job:
            came = _fail(case, job)
            row = judge(case, came, took_s=time.monotonic() - began_s)
            if keep:
                job.keep(keep / case.name)
                (keep / case.name / "row.json").write_text(json.dumps(asdict(row), indent=1))
            return row
    except Exception as error:  # noqa: BLE001 - one broken case must not hide the others
        took_s = time.monotonic() - began_s
        return Row(scenario=case.name, complaints=(f"broke: {error!r}",), took_s=took_s)


@contextlib.contextmanager
def _job(case: Case, place: Path) -> Iterator[StruckJob]:
    stage = Stage(
        workload=case.workload, task=case.task, folder=place, program=PROGRAMS[case.workload]
    )
    stage.checkpoint_dir.mkdir()
    _notes(stage).mkdir()
    stage.run_options = case.run_options(stage.checkpoint_dir)
    stage.options = ["--steps", str(case.steps), "--step-ms", f"{1000 * case.step_s:g}"]
    stage.options += ["--checkpoint-dir", str(stage.checkpoint_dir)]
    stage.options += ["--save-every-steps", str(SAVE_EVERY_STEPS), "--report-every-steps", "1"]
    stage.options += ["--notes", str(_notes(stage))]
    if not case.strike:
        stage.options += case.options
        with StruckJob(stage) as job:
            yield job
        return
    what = STRIKES[case.strike]
    stage.options += [*fault_options(what, stage), *case.options]
    with what.around(stage), StruckJob(stage) as job:
        yield job


def _notes(stage: Stage) -> Path:
    return stage.folder / "notes"


def _fail(case: Case, job: StruckJob) -> Outcome:
    """Let it fail, and come to its end, however long that takes."""
    notes = WrittenDown(_notes(job.stage))
    if case.strike:
        _strike(case, job, notes)
    ended = job.until(lambda: job.is_over, ENDS_S_MAX)
    exit_code = job.front.returncode if ended else None
    job.end()
    notes.look()
    return Outcome(
        exit_code=exit_code,
        facts=job.facts(),
        report=job.report(),
        notes=notes,
        checkpoint_dir=job.stage.checkpoint_dir,
        fault_s=_fault_s(job),
    )


def _fault_s(job: StruckJob) -> float | None:
    """Who grows too large trains on until it is killed for it."""
    grows = job.stage.fault_at.exists()
    return job.died_s if grows and job.died_s else job.struck_s


def _strike(case: Case, job: StruckJob, notes: WrittenDown) -> None:
    """In the middle between two checkpoints, so that there is something to lose."""
    if not job.until(lambda: _is_due(case, notes), TRAINS_S_MAX):
        raise RuntimeError(f"no training: see {job.stage.folder}")
    strike_now(STRIKES[case.strike], job, step_s=case.step_s)
    job.stage.trigger.unlink(missing_ok=True)  # whoever comes next shall live
    if case.heals_s < ENDS_S_MAX:
        job.until(lambda: False, case.heals_s)
        job.undo.close()


def _is_due(case: Case, notes: WrittenDown) -> bool:
    time.sleep(LOOK_S)
    notes.look()
    steps = notes.of("step")
    known = not case.takes_steps or any(line.task == case.task for line in steps)
    far = any(line.step >= STRIKE_STEP for line in steps)
    return known and far and notes.steps_since_save() >= SAVE_EVERY_STEPS // 2


def show(table: Table, row: Row) -> Row:
    lost = "" if row.steps_lost is None else str(row.steps_lost)
    parts = [f"{row.seconds[part]:.1f}" if part in row.seconds else "" for part in PARTS]
    stood = "" if row.stood_s is None else f"{row.stood_s:.1f}"
    table.show(row, row.decided or "nothing", lost, *parts, stood)
    return row


def _wanted(case: Case) -> str:
    right = " or ".join(", ".join(one) or "nothing" for one in case.remedies)
    return f"{right} ({case.told}), exit {case.exit_code}"


if __name__ == "__main__":
    sys.exit(main())
