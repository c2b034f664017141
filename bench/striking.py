"""One scenario: a job trains, it is struck at a moment, and what is said is judged."""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.fault import Told
from bench.strike import Moment, Since, Strike
from bench.struck import Heard, Stage, StruckJob

from holdfast import open_folder

STRIKES: dict[str, Strike] = open_folder.load("bench.strikes", "strike")
TRAINS_S_MAX = 90.0
SETTLE_S, SETTLE_STEPS = 6.0, 3  # until a task has habits
FIRST_STEP_S = 15.0
SAVE_EVERY_S = 2.0
END_AFTER_S, END_SHARE = 12.0, 0.9
STEPS_WITHOUT_END = 10_000_000
COMMITS_S_MAX = 20.0
DIES_S_MAX = 60.0
LATE_S = 15.0  # a word that comes too late is still heard
LINGER_S = 2.0  # after the word, for others that may follow
STARTS_S = 1.5  # into its life a task still imports


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    strike: str
    workload: str
    task: str
    moment: Moment = Moment.MID_RUN
    step_ms: float = 50
    step_by: str = "waiting"
    told: Told | None = None  # where it differs from what the strike says
    within_s: float | None = None
    options: tuple[str, ...] = ()  # more for the workload

    @property
    def name(self) -> str:
        usual = (Moment.MID_RUN, 50, "waiting")
        words = [self.strike, self.workload, self.task.replace(":", "-")]
        now = (self.moment, self.step_ms, self.step_by)
        words += [
            f"{word:g}ms" if isinstance(word, float | int) else str(word)
            for word, default in zip(now, usual, strict=True)
            if word != default
        ]
        return "-".join(words)

    @property
    def expected(self) -> Told:
        return self.told or STRIKES[self.strike].told(self.workload, self.task)

    @property
    def limit_s(self) -> float:
        """From the strike to the word."""
        strike = STRIKES[self.strike]
        steps_s = strike.within_steps * self.step_ms / 1000
        return self.within_s or max(strike.within_s, steps_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of it: one line of the table."""

    scenario: str
    expected: str
    cause: str = ""
    culprit: str | None = None
    seconds: float | None = None
    complaint: str = ""  # empty: it is right
    false_alarms: tuple[str, ...] = ()  # errors before the strike, and accusations before the right
    also: tuple[str, ...] = ()  # what else was said
    took_s: float = 0.0
    lacks: str = ""  # why it was not tried


def strike(scenario: Scenario, folder: Path, keep: Path | None = None) -> Row:
    """Run it, and judge it by its run directory alone."""
    began_s = time.monotonic()
    if lacks := STRIKES[scenario.strike].lacks():
        return Row(scenario=scenario.name, expected=str(scenario.expected), lacks=lacks)
    place = folder / scenario.name
    place.mkdir(parents=True)
    try:
        with _job(scenario, place) as job:
            row = _struck(scenario, job, began_s)
            if keep:
                job.keep(keep / scenario.name)
                (keep / scenario.name / "row.json").write_text(json.dumps(asdict(row), indent=1))
            return row
    except Exception as error:  # noqa: BLE001 - one broken scenario must not hide the others
        words = f"broke: {error!r}"
        took_s = time.monotonic() - began_s
        expected = str(scenario.expected)
        return Row(scenario=scenario.name, expected=expected, complaint=words, took_s=took_s)


@contextlib.contextmanager
def _job(scenario: Scenario, place: Path) -> Iterator[StruckJob]:
    stage = Stage(workload=scenario.workload, task=scenario.task, folder=place)
    stage.checkpoint_dir.mkdir()
    stage.options = _options(scenario, stage)
    with STRIKES[scenario.strike].around(stage), StruckJob(stage) as job:
        yield job


def _options(scenario: Scenario, stage: Stage) -> list[str]:
    """Of the workload."""
    what = STRIKES[scenario.strike]
    step_s = scenario.step_ms / 1000
    ends = scenario.moment is Moment.END
    steps = max(20, round(END_AFTER_S / step_s)) if ends else STEPS_WITHOUT_END
    options = ["--steps", str(steps), "--step-ms", f"{scenario.step_ms:g}"]
    options += ["--step-by", scenario.step_by, "--checkpoint-dir", str(stage.checkpoint_dir)]
    options += ["--save-every-s", f"{max(SAVE_EVERY_S, 2 * step_s):g}"]
    if scenario.moment is Moment.FIRST_STEP:
        options += ["--first-step-s", f"{FIRST_STEP_S:g}"]
    return [*options, *fault_options(what, stage), *scenario.options]


def fault_options(what: Strike, stage: Stage) -> list[str]:
    """By which the program commits the fault itself, once it is told to."""
    options = ["--fault-at-file", str(stage.fault_at)]
    if what.commits:
        options += ["--fail-how", what.commits, "--fail-task", stage.task]
        options += ["--fail-when", str(stage.trigger)]
    return [*options, *(word.replace("{task}", stage.task) for word in what.options)]


def _struck(scenario: Scenario, job: StruckJob, began_s: float) -> Row:
    what, expected = STRIKES[scenario.strike], scenario.expected
    _await(scenario.moment, job, step_s=scenario.step_ms / 1000)
    strike_now(what, job, step_s=scenario.step_ms / 1000)
    watch_s = what.watch_s if expected.silent else scenario.limit_s + LATE_S
    if what.since is Since.DEATH and not expected.silent:
        job.until(lambda: job.died_s or _answer(job, expected, what), DIES_S_MAX)
    job.until(lambda: _answer(job, expected, what), watch_s)
    job.until(lambda: False, LINGER_S)
    heard, lives = len(job.heard), not job.is_over
    job.end()
    job.poll()
    row = _judge(scenario, job, heard, took_s=time.monotonic() - began_s)
    if expected.silent and not lives and not row.complaint:
        return replace(row, complaint=f"the job ended: see {job.stage.folder}")
    return row


def _await(moment: Moment, job: StruckJob, *, step_s: float) -> None:
    """Until the moment has come."""
    stage = job.stage
    job.watch_death(stage.task)
    if moment is Moment.START:
        job.until(lambda: False, STARTS_S)
        return
    _must(job.until(lambda: _has_begun(job), TRAINS_S_MAX), job)
    if stage.fault_at.exists():
        return  # a difference between tasks strikes before anybody trains
    if moment is Moment.FIRST_STEP:
        job.until(lambda: False, FIRST_STEP_S / 3)
        return
    if moment is Moment.END:
        last = int(stage.options[stage.options.index("--steps") + 1])
        job.until(lambda: job.step(stage.leader) >= END_SHARE * last, TRAINS_S_MAX)
        return
    _must(job.until(lambda: job.step(stage.leader), TRAINS_S_MAX + 2 * step_s), job)
    settled_s = time.monotonic() + max(SETTLE_S, SETTLE_STEPS * step_s)
    job.until(lambda: time.monotonic() > settled_s, TRAINS_S_MAX + SETTLE_STEPS * step_s)
    if moment is Moment.CHECKPOINT:
        before = _files(stage.checkpoint_dir)
        job.until(lambda: _files(stage.checkpoint_dir) - before, TRAINS_S_MAX)


def _has_begun(job: StruckJob) -> bool:
    return job.stage.fault_at.exists() or "training begins" in job.log(job.stage.leader)


def _must(trains: bool, job: StruckJob) -> None:  # noqa: FBT001 - it reads as a sentence
    if not trains:
        raise RuntimeError(f"no training: see {job.stage.folder}")


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def strike_now(what: Strike, job: StruckJob, *, step_s: float) -> None:
    task = job.stage.task
    with contextlib.suppress(OSError):  # it may be gone already
        job.watch_death(task)
    job.struck_s = time.time()
    if what.do:
        what.do(job, task)
    if what.commits:
        job.stage.trigger.touch()
        if not job.until(job.stage.fault_at.exists, COMMITS_S_MAX + 2 * step_s):
            raise RuntimeError(f"the fault was not committed: see {job.stage.folder}")
    if job.stage.fault_at.exists():
        job.struck_s = float(job.stage.fault_at.read_text())


def _answer(job: StruckJob, expected: Told, what: Strike) -> Heard | None:
    """The first word that accuses anybody since the strike."""
    assert job.struck_s is not None
    for heard in job.heard:
        if heard.at_unix_s < job.struck_s or heard.finding["cause"] in what.foretold:
            continue
        if heard.accuses or expected.fits(*heard.name):
            return heard
    return None


def _judge(scenario: Scenario, job: StruckJob, heard: int, *, took_s: float) -> Row:
    """By what was heard while it lived, and by the report."""
    what, expected = STRIKES[scenario.strike], scenario.expected
    assert job.struck_s is not None
    live = job.heard[:heard]
    early = [one for one in live if one.at_unix_s < job.struck_s and one.is_error]
    answer = _answer(job, expected, what) if not expected.silent else None
    answer = answer if answer in live else None
    # Who waits for ever dies only when we end it, and then it has long been told.
    died = what.since is Since.DEATH and (not answer or answer.at_unix_s >= (job.died_s or 0))
    since_s = job.died_s if died and job.died_s else job.struck_s
    seconds = answer.at_unix_s - since_s if answer else None
    wrong = [answer] if answer and not expected.fits(*answer.name) else []
    if expected.silent:
        wrong = [one for one in live if one.is_error and one not in early]
    also = [one for one in live if one is not answer and one not in (*early, *wrong)]
    first = _first(job.report(), expected, what)
    name = answer.name if answer else ("", None)
    complaint = _complaint(scenario, early, wrong, seconds, first)
    return Row(
        scenario=scenario.name,
        expected=str(expected),
        cause=name[0],
        culprit=name[1],
        seconds=None if seconds is None else round(seconds, 2),
        complaint=complaint,
        false_alarms=tuple(_words(one) for one in (*early, *wrong)),
        also=tuple(_words(one) for one in also),
        took_s=round(took_s, 1),
    )


def _complaint(
    scenario: Scenario,
    early: list[Heard],
    wrong: list[Heard],
    seconds: float | None,
    first: tuple[str, str | None] | None,
) -> str:
    expected = scenario.expected
    reported = f"{first[0]} {first[1]}" if first else "nothing"
    if early or wrong:
        return "false alarm"
    if expected.silent:
        return f"the report accuses: {reported}" if first else ""
    live = STRIKES[scenario.strike].live
    if live and seconds is None:
        return f"not told; the report: {reported}"
    if live and seconds is not None and seconds > scenario.limit_s:
        return f"after {seconds:.2f} s, not {scenario.limit_s:g} s"
    fits = first is not None and expected.fits(*first)
    return "" if fits else f"the report: {reported}"


def _first(report: dict[str, Any], expected: Told, what: Strike) -> tuple[str, str | None] | None:
    """What the report accuses first; of a harmless strike, only an error is an accusation."""
    found = [Heard(0.0, one) for one in report.get("findings", ())]
    chosen = [
        one.name
        for one in found
        if (one.is_error or (not expected.silent and (one.accuses or expected.fits(*one.name))))
        and one.name[0] not in what.foretold
    ]
    return chosen[0] if chosen else None


def _words(heard: Heard) -> str:
    return f"{heard.name[0]} {heard.name[1]} ({heard.finding['severity']})"
