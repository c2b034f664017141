"""Judges whether tasks that have not built the same say so in time: `python -m bench.agreeing`.

Real clusters under `holdfast run`, with Keras, a loop of one's own, MonitoredTrainingSession,
tf.estimator and parameter servers. One task differs in what it has built, reads or runs with. What
is judged is the journal and the report: which task and which thing, before anybody's first step;
and that nobody is held up where all is well, or where one task never compares.
"""

import contextlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import cluster
from bench.agree_scenarios import QUICK, WORKLOADS, Scenario, scenarios
from bench.judging import Table, is_asked, options
from bench.output.envs import lack_of
from bench.struck import Heard, Stage, StruckJob
from bench.surroundings import in_env

from holdfast.model.facts import AttemptStarted, TaskStarted
from holdfast.model.told_facts import DifferenceTold
from holdfast.model.watch_facts import StepsSeen

STEPS, STEP_MS = 120, 50
RUN_S_MAX = 150.0
DELAY_S_MAX = 1.0  # for the last task to come: the others would wait for it anyway
HEADS = ("scenario", "expected", "told first", "s", "delay", "")
WIDTHS = (32, 30, 32, 7, 7)
COMPARED = re.compile(r"^compared within ([\d.]+) s$", re.MULTILINE)
UNANSWERED = "no fingerprint of {} within"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of it: one line of the table."""

    scenario: str
    expected: str
    told: str = ""
    seconds: float | None = None  # from the last task's start to the finding
    delay_s: float | None = None  # by which the comparison held up the last to come
    complaint: str = ""  # empty: it is right
    lacks: str = ""  # why it was not tried


def main() -> int:
    asked = options(__doc__).parse_args()
    chosen = [one for one in scenarios() if is_asked(one.name, one.differs, asked, QUICK)]
    if asked.list:
        print("\n".join(f"{one.name:{WIDTHS[0]}} {one.told} {one.thing}" for one in chosen))
        return 0
    table = Table("agreeing", HEADS, WIDTHS)
    rows = [_shown(table, tried(one, table.folder, asked.keep)) for one in chosen]
    found_s = [row.seconds for row in rows if row.seconds is not None]
    if found_s:
        print(
            f"from the last start to the finding: {median(found_s):.1f} s as a rule,"
            f" {max(found_s):.1f} s at most, with TensorFlow's own import"
        )
    return table.conclude(rows)


def tried(scenario: Scenario, folder: Path, keep: Path | None = None) -> Row:
    """Run it to its end, and judge it by its run directory."""
    cluster.WORKLOADS.update(WORKLOADS)
    env = scenario.env or WORKLOADS[scenario.workload].env
    if lacks := lack_of(env):
        return Row(scenario=scenario.name, expected=str(scenario.told), lacks=lacks)
    stage = Stage(workload=scenario.workload, task=scenario.task, folder=folder / scenario.name)
    stage.checkpoint_dir.mkdir(parents=True)
    stage.options = ["--steps", str(STEPS), "--step-ms", str(STEP_MS)]
    stage.options += ["--checkpoint-dir", str(stage.checkpoint_dir)]
    if scenario.differs:
        stage.options += ["--differ", scenario.differs, "--differ-task", scenario.task]
    around = in_env(scenario.env)(stage) if scenario.env else contextlib.nullcontext()
    with around, StruckJob(stage) as job:
        ended = job.until(lambda: job.is_over, RUN_S_MAX)
        job.end()
        job.poll()
        if keep:
            job.keep(keep / scenario.name)
        return Judged(scenario, job).row() if ended else _endless(scenario)


def _endless(scenario: Scenario) -> Row:
    complaint = f"it did not end within {RUN_S_MAX:g} s"
    return Row(scenario=scenario.name, expected=str(scenario.told), complaint=complaint)


class Judged:
    """A run that has ended, before the eyes of a scenario."""

    def __init__(self, scenario: Scenario, job: StruckJob) -> None:
        self._scenario = scenario
        self._job = job
        facts = job.facts()
        self._told = [fact for fact in facts if isinstance(fact, DifferenceTold)]
        began = [one.began_unix_s for one in facts if isinstance(one, AttemptStarted)]
        starts = [one.at_s for one in facts if isinstance(one, TaskStarted)]
        self._started_s = max(starts)
        self._started_unix_s = began[0] + self._started_s
        steps = [one.at_s for one in facts if isinstance(one, StepsSeen) and one.step > 0]
        self._first_step_s = min(steps, default=None)
        found = [Heard(0.0, one) for one in job.report().get("findings", ())]
        expected = scenario.told
        self._findings = [one for one in found if one.accuses or expected.fits(*one.name)]

    def row(self) -> Row:
        first = self._findings[0].name if self._findings else ("nothing", "")
        return Row(
            scenario=self._scenario.name,
            expected=str(self._scenario.told),
            told=f"{first[0]} {first[1]}",
            seconds=self._seconds(),
            delay_s=self._delay_s(),
            complaint=self._complaint(),
        )

    def _seconds(self) -> float | None:
        """By the line in findings.jsonl; a note comes only at the end, but it has its facts."""
        heard = [one for one in self._job.heard if self._scenario.told.fits(*one.name)]
        if not heard:
            return None
        if heard[0].finding["severity"] == "info":
            return min((one.at_s for one in self._telling()), default=0.0) - self._started_s
        return heard[0].at_unix_s - self._started_unix_s

    def _delay_s(self) -> float | None:
        """What the comparison took for whoever came last."""
        logs = (self._job.log(task) for task in self._job.stage.tasks)
        took_s = [float(found) for log in logs for found in COMPARED.findall(log)]
        return min(took_s) if took_s else None

    def _telling(self) -> list[DifferenceTold]:
        """Those about the thing in which the odd task stands alone, as it should."""
        thing = self._scenario.thing.partition(" 2.")[0]  # a version is in the values
        return [
            one
            for one in self._told
            if thing in f"{one.about} {one.name}"
            and (self._scenario.task,) in {tuple(who) for who in one.values.values()}
        ]

    def _complaint(self) -> str:
        code = self._job.front.returncode
        wanted_code = 1 if self._scenario.stops else 0
        if code != wanted_code:
            return f"exit {code}, not {wanted_code}"
        if self._scenario.differs == "silence":
            return self._of_silence()
        return self._of_health() if self._scenario.told.silent else self._of_difference()

    def _of_difference(self) -> str:
        scenario, findings = self._scenario, self._findings
        if not findings or not scenario.told.fits(*findings[0].name):
            return "wrong finding"
        says = findings[0].finding["says"]
        if scenario.thing not in says or scenario.task not in says:
            return f"it does not name {scenario.thing} of {scenario.task}: {says}"
        wrong = [one.name for one in findings[1:] if one.name[1] not in {scenario.task, None}]
        if wrong:
            return f"accused wrongly: {wrong}"
        telling = self._telling()
        if not telling:
            return "no task has told it"
        if scenario.stops and self._first_step_s is not None:
            return "somebody trained"
        first_s = self._first_step_s
        too_late = first_s is not None and first_s < min(one.at_s for one in telling)
        return "told after the first step" if too_late else ""

    def _of_health(self) -> str:
        if self._findings or self._told:
            return f"false alarm: {[one.name for one in self._findings] or self._told[0]}"
        delay_s = self._delay_s()
        if delay_s is None:
            return "nobody compared"
        return f"held up by {delay_s:.2f} s" if delay_s > DELAY_S_MAX else ""

    def _of_silence(self) -> str:
        """The others wait, say so once each, and train on."""
        if self._findings or self._told:
            return f"false alarm: {[one.name for one in self._findings] or self._told[0]}"
        stage, silent = self._job.stage, self._scenario.task
        others = [task for task in stage.tasks if task != silent and not task.startswith("ps")]
        said = {
            task: self._job.log(task, "err").count(UNANSWERED.format(silent)) for task in others
        }
        return "" if set(said.values()) == {1} else f"said so so often: {said}"


def _shown(table: Table, row: Row) -> Row:
    seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
    delay = "" if row.delay_s is None else f"{row.delay_s:.2f}"
    table.show(row, row.expected, row.told, seconds, delay)
    return row


if __name__ == "__main__":
    sys.exit(main())
