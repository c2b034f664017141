"""Runs one wild job under `holdfast run`, watches what is said, and stops it as a user would."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from bench.struck import Heard, Stage, StruckJob
from bench.wild.composing import INTERRUPTED, PLAIN, Job
from bench.wild.grammar import PROGRAMS, WAYS, Kind, Plan, WildWorkload
from bench.wild.judging import TAKEN_BACK, Row, Said, culprits_of, judge, row_of, tells, watch_s
from bench.wild.loads import core_seconds, loaded
from bench.wild.truth import Truth, read_notes, truth_of

from holdfast.logdir.journal import JournalFollower, follow_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    SignalSent,
    StartWaits,
    StopAsked,
    TaskExited,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold

POLL_S = 0.2
LINGER_S = 3.0  # after the right word, for others that may follow
FAULT_S_MAX = 150.0  # from the start until the chosen task does what it is chosen for
HEALTHY_S_MAX = 240.0
INTERRUPT_AFTER_S = 4.0  # of training
STOP_S_MAX = 30.0
SMALL_DISK = "size=1m"
CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}


class WildRun:
    """A job that runs, and all that was said of it so far."""

    def __init__(self, job: Job, place: Path, struck: StruckJob) -> None:
        self.job, self.place, self.struck = job, place, struck
        self.began_s = time.time()
        self.cores_before = core_seconds()
        self._facts: list[Fact] = []
        self._follower: JournalFollower | None = None
        self._open = contextlib.ExitStack()

    def truth(self) -> Truth | None:
        notes = read_notes(self.place / "notes", self.job.tasks)
        return truth_of(self.job, notes, until_s=time.time())

    def said(self) -> list[Said]:
        """In the journal; and in findings.jsonl what the journal does not tell."""
        self._read()
        began = [fact for fact in self._facts if isinstance(fact, AttemptStarted)]
        zero_s = began[-1].began_unix_s if began else self.began_s
        words = [word for fact in self._facts for word in _said(self.job, fact, zero_s)]
        known = {(word.cause, word.culprits) for word in words}
        heard = [_heard(self.job, one) for one in self.struck.heard]
        return words + [word for word in heard if (word.cause, word.culprits) not in known]

    def busy_share(self) -> float:
        """Of all cores, since the fault was seen."""
        used, total = (
            after - before for before, after in zip(self.cores_before, core_seconds(), strict=True)
        )
        return round(used / total, 2) if total else 0.0

    def chosen_has_ended(self) -> bool:
        self._read()
        ended = [fact for fact in self._facts if isinstance(fact, TaskExited)]
        return any(str(fact.task) == self.job.chosen for fact in ended)

    def crashed(self) -> list[str]:
        """Tasks but the chosen one that died of a signal before anybody was asked to end."""
        self._read()
        asked = [fact.at_s for fact in self._facts if isinstance(fact, StopAsked | SignalSent)]
        ended = [fact for fact in self._facts if isinstance(fact, TaskExited)]
        return [
            str(fact.task)
            for fact in ended
            if str(fact.task) != self.job.chosen
            and fact.signal in CRASHES
            and fact.at_s < min(asked, default=math.inf)
        ]

    def is_named(self, since_s: float) -> bool:
        return any(
            tells(word) and self.job.chosen in word.culprits and word.at_s >= since_s
            for word in self.said()
        )

    def wait(self, until: Callable[[], bool], within_s: float) -> bool:
        deadline_s = time.monotonic() + within_s
        while not self.struck.is_over and time.monotonic() < deadline_s:
            self.struck.poll()
            if until():
                return True
            time.sleep(POLL_S)
        self.struck.poll()
        return until()

    def interrupt(self) -> None:
        """Ctrl-C, and once more for whoever does not listen."""
        for _ in range(2):
            if self.struck.is_over:
                return
            self.struck.front.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.struck.front.wait(STOP_S_MAX)

    def close(self) -> None:
        self._open.close()

    def _read(self) -> None:
        with contextlib.suppress(HoldfastError):
            if self._follower is None:
                run_dir = self._open.enter_context(open_run_dir(self.struck.run_dir))
                self._follower = follow_journal(run_dir)
                self._open.callback(self._follower.close)
            self._facts += [fact for fact in self._follower.fresh() if _is_word(fact)]


def run_job(job: Job, folder: Path) -> Row:
    """Run it, and judge it by its run directory and its own notes."""
    began_s = time.monotonic()
    place = folder / str(job.seed)
    try:
        with _prepared(job, place) as stage, StruckJob(stage) as struck:
            run = WildRun(job, place, struck)
            try:
                with loaded(job.load, struck):
                    _watched(run)
                    truth, has_ended, ended_s = run.truth(), run.chosen_has_ended(), time.time()
                    busy = run.busy_share()
                    run.interrupt()
                struck.poll()
                row = judge(
                    job,
                    truth,
                    run.said(),
                    struck.report(),
                    exit_code=struck.front.poll(),
                    took_s=time.monotonic() - began_s,
                    ended_s=ended_s,
                    crashed=run.crashed(),
                )
                # An exception may leave a process that waits for its peers: who says so is right.
                lives = job.kind is Kind.DIES and not has_ended and not row.report_right
                lives = lives and not row.broken
                return replace(
                    row, busy=busy, broken="the chosen task lives on" if lives else row.broken
                )
            finally:
                run.close()
    except Exception as error:  # noqa: BLE001 - one broken job must not hide the others
        return row_of(job, broken=repr(error), took_s=round(time.monotonic() - began_s, 1))


def _watched(run: WildRun) -> None:
    """Until it can be judged."""
    job = run.job
    if job.way == INTERRUPTED:
        notes = run.place / "notes"
        run.wait(lambda: _has_trained(job, notes), FAULT_S_MAX)
        run.wait(lambda: False, INTERRUPT_AFTER_S)
        return
    if not job.is_faulty:
        run.wait(lambda: False, HEALTHY_S_MAX)
        return
    run.wait(lambda: run.truth() is not None, FAULT_S_MAX)
    run.cores_before = core_seconds()
    truth = run.truth()
    if truth is None:
        return
    if job.kind is Kind.DIES:
        run.wait(lambda: False, watch_s(job))
        return
    run.wait(lambda: _is_told(run), watch_s(job) + FAULT_S_MAX)
    run.wait(lambda: False, LINGER_S)


def _is_told(run: WildRun) -> bool:
    """Or the time for it is over."""
    truth = run.truth()
    if truth is None:
        return False
    return run.is_named(truth.fault_s) or time.time() > truth.go_on_s + watch_s(run.job)


def _has_trained(job: Job, notes: Path) -> bool:
    steps = [note for own in read_notes(notes, job.tasks).values() for note in own]
    return any(note.what == "done" and note.step >= min(job.at_step, 20) for note in steps)


@contextlib.contextmanager
def _prepared(job: Job, place: Path) -> Iterator[Stage]:
    (place / "notes").mkdir(parents=True)
    plan = {name.name: getattr(job, name.name, None) for name in fields(Plan)}
    plan |= {"folder": str(place), "way": "" if job.way in {PLAIN, INTERRUPTED} else job.way}
    (place / "plan.json").write_text(json.dumps(plan))
    (place / "job.json").write_text(json.dumps(asdict(job), indent=1))
    program = PROGRAMS[job.program]
    workload = WildWorkload(
        program.file, dict(job.roles), env=program.env, more=("--env", _QUIET, *program.options)
    )
    small = "small-disk" in WAYS[job.kind][job.way].needs if plan["way"] else False
    with _small_disk(place / "small-disk") if small else contextlib.nullcontext():
        yield Stage(
            workload=job.program,
            task=job.chosen,
            folder=place,
            program=workload,
            options=[str(place / "plan.json")],
        )


_QUIET = "CUDA_VISIBLE_DEVICES="


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[None]:
    """It takes root."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", SMALL_DISK, "tmpfs", str(place)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def _is_word(fact: Fact) -> bool:
    told = AttemptStarted | FindingTold | FindingTakenBack | StartWaits
    return isinstance(fact, told | SignalSent | StopAsked | TaskExited)


def _said(job: Job, fact: Fact, zero_s: float) -> Iterator[Said]:
    at_s = zero_s + fact.at_s
    match fact:
        case FindingTold(cause=cause, severity=severity, says=says):
            culprits = culprits_of(job, {"culprit": str(fact.task or ""), "says": says})
            yield Said(at_s=at_s, severity=severity, cause=cause, culprits=culprits, says=says)
        case FindingTakenBack(cause=cause, severity=severity, says=says):
            culprits = culprits_of(job, {"culprit": str(fact.task or ""), "says": says})
            yield Said(
                at_s=at_s,
                severity=severity,
                cause=cause,
                culprits=culprits,
                says=says,
                what=TAKEN_BACK,
            )
        case StartWaits(missing=missing, says=says) if missing:
            yield Said(
                at_s=at_s, severity="notice", cause="start-waits", culprits=missing, says=says
            )


def _heard(job: Job, one: Heard) -> Said:
    finding: Any = one.finding
    return Said(
        at_s=one.at_unix_s,
        severity=finding["severity"],
        cause=finding["cause"],
        culprits=culprits_of(job, finding),
        says=finding["says"],
    )


def keep_or_drop(row: Row, folder: Path, keep: Path | None, *, keep_all: bool) -> None:
    """What is left of a job: its run directory, where it was asked for or judged wrong."""
    place = folder / str(row.seed)
    if keep and (keep_all or not row.is_fine):
        keep.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(keep / str(row.seed), ignore_errors=True)
        shutil.move(place, keep / str(row.seed))
        (keep / str(row.seed) / "row.json").write_text(json.dumps(asdict(row), indent=1))
    else:
        shutil.rmtree(place, ignore_errors=True)


def fresh_seeds(count: int) -> Sequence[int]:
    return [int.from_bytes(os.urandom(5)) for _ in range(count)]
