"""`holdfast run`: start a cluster here, show what it does, and say how each task ended."""

import os
import shlex
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from holdfast import __version__
from holdfast.agent.hold import RECORD
from holdfast.agent.open_files import allow_many_files
from holdfast.agent.preflight import preflight
from holdfast.cli import wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.intake.asked_job import asked_job
from holdfast.intake.job_command import HOW_TO_WRITE_IT, JobCommand
from holdfast.intake.job_options import job_options
from holdfast.intake.own_cluster import refuse_inside_a_cluster
from holdfast.launch.local import backend, proxy_exceptions
from holdfast.logdir.journal import read_journal
from holdfast.logdir.journal_lock import is_being_written
from holdfast.logdir.private_files import open_for_append
from holdfast.logdir.run_dir import RunDir, create_run_dir, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadInput, MissingInput, Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Severity
from holdfast.model.job import Job
from holdfast.model.line_choice import SHOW_DEFAULT, LineChoice
from holdfast.model.plan import Plan
from holdfast.model.redact import redact
from holdfast.model.submission import encode_plan
from holdfast.views.front import Front, Held
from holdfast.views.report import fit

PREFLIGHT_CODE = 3


@click.command(
    cls=JobCommand,
    short_help="Start a cluster on this machine, and say how it went.",
    epilog=HOW_TO_WRITE_IT,
    context_settings={"allow_interspersed_args": False},
)
@job_options
@click.option("--plan", is_flag=True, help="Print what would be started, and start nothing.")
@click.option(
    "--check/--no-check",
    default=True,
    help="Look for what would block the start, before and while it starts.  [default: check]",
)
@click.option(
    "--resume",
    metavar="RUN_DIR",
    help="Go on with a run that its supervisor or its terminal left; starts nothing twice.",
)
@click.option("--quiet", "-q", is_flag=True, help="Do not show the tasks' output.")
@click.option("--tasks", metavar="LIST", help="Show only these: worker:0,ps")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[JOB.toml] [-- COMMAND...]")
def command(**asked: Any) -> None:
    """Run COMMAND once for every task of a TensorFlow cluster on this machine.

    \b
      holdfast run --ps 1 --workers 2 --chief -- python train.py
      holdfast run job.toml --workers 4
      holdfast run --resume RUN_DIR

    Every task gets a correct TF_CONFIG and a free port. All output is kept in the run directory,
    whatever happens to this terminal. When chief and workers are done, parameter servers and
    evaluator are stopped. Ctrl-C once ends the job gracefully, twice at once. The training outlives
    this terminal and even its supervisor: --resume, or holdfast attach RUN_DIR, takes it up again.

    With --on-failure recover, a job that was killed from outside or hangs is brought back: one task
    alone where TensorFlow allows it, else all of them. A mistake in the program never is.

    Exit codes: 0 the training is done, at once, after a relaunch or with workers lost; 1 it
    failed; 2 wrong usage; 3 the check found errors, nothing was started; 75 a fault of the
    machine, or ended by SIGTERM after it had saved, safe to try again; 124 the cluster did not
    come up in time; 127 command not found; 128+N a task was killed by signal N; 130 Ctrl-C;
    66, 73, 74, 77, 78 files, disk, rights, job.
    """
    if asked["resume"] is not None:
        sys.exit(_resume(asked))
    job = _asked_job(asked)
    shown = _chosen(job.tasks, asked["tasks"])
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
    folder = Path(job.run_dir or f"holdfast-runs/{run_id}").absolute()
    files_max = allow_many_files()
    addresses = backend.addresses(job)
    exceptions = proxy_exceptions(addresses.cluster, {**os.environ, **job.env})
    job = replace(job, env={**exceptions, **job.env})
    plan = backend.plan(job, addresses.cluster, run_id=run_id, run_dir=str(folder))
    plan = replace(plan, watch_start=asked["check"])
    if asked["plan"]:
        click.echo(plan.text())
        return
    if asked["check"]:
        _check(job, plan)
    run_dir = create_run_dir(folder)
    run_dir.write_json("run.json", _about(job, plan))
    signals = _gathered_signals()
    log_fd = _supervisor_log(run_dir)
    supervisor = backend.submit(encode_plan(plan), addresses, log_fd, files_max=files_max)
    shown = () if asked["quiet"] else shown
    held = Held(run_dir, supervisor)
    choice = LineChoice(job.show, job.quiet_tensorflow)
    sys.exit(_front(run_dir, held, job.tasks, shown=shown, signals=signals, choice=choice).run())


def _asked_job(asked: dict[str, Any]) -> Job:
    """Paths as the supervisor sees them; and nobody is asked where nobody can answer."""
    refuse_inside_a_cluster(os.environ)
    job = asked_job(asked)
    folder = job.checkpoint_dir
    job = replace(job, checkpoint_dir=str(Path(folder).absolute()) if folder else None)
    unheard = job.on_failure == "ask" and not (sys.stdin.isatty() and sys.stdout.isatty())
    if unheard or job.dry_run:
        return replace(job, on_failure="recover", dry_run=True)
    return job


def _resume(asked: dict[str, Any]) -> int:
    _refuse_a_new_job(asked)
    wanted = {name: asked[name] for name in ("tasks", "quiet", "show", "quiet_tensorflow")}
    return rejoin(Path(asked["resume"]), **wanted)


def rejoin(
    folder: Path,
    *,
    tasks: str | None = None,
    quiet: bool = False,
    show: str | None = None,
    quiet_tensorflow: bool | None = None,
) -> int:
    """Show a run that goes on, under a new supervisor if its own is gone; its exit code."""
    run_dir = open_run_dir(folder)
    evidence = Evidence(read_journal(run_dir).facts)
    ended = next(evidence.of(AttemptEnded), None)
    if ended is not None:
        click.echo(
            f"this run is over: {ended.why} (exit code {ended.exit_code});"
            f" holdfast diagnose {run_dir.path} shows how it went",
            err=True,
        )
        return ended.exit_code
    shown = () if quiet else _chosen(evidence.tasks, tasks)
    choice = _choice(run_dir, show, quiet_tensorflow=quiet_tensorflow)
    signals = _gathered_signals()
    allow_many_files()
    supervisor = None
    if not is_being_written(run_dir):
        _refuse_if_nothing_began(run_dir)
        supervisor = backend.resume(str(run_dir.path), _supervisor_log(run_dir))
    held = Held(run_dir, supervisor)
    front = _front(
        run_dir, held, evidence.tasks, shown=shown, signals=signals, choice=choice, joins=True
    )
    return front.run()


def _choice(run_dir: RunDir, show: str | None, *, quiet_tensorflow: bool | None) -> LineChoice:
    """What a run was started with, unless somebody who joins it wants to see something else."""
    try:
        about = run_dir.read_json("run.json")
    except (MissingInput, BadInput):  # only how it is shown depends on that
        about = {}
    said = about.get("job", {}) if isinstance(about, dict) else {}
    if quiet_tensorflow is None:
        quiet_tensorflow = said.get("quiet_tensorflow") is True
    return LineChoice(show or str(said.get("show", SHOW_DEFAULT)), quiet_tensorflow)


def _front(
    run_dir: RunDir,
    held: Held,
    tasks: tuple[TaskId, ...],
    *,
    shown: tuple[TaskId, ...],
    signals: list[int],
    choice: LineChoice,
    joins: bool = False,
) -> Front:
    return Front(
        run_dir,
        held,
        tasks,
        shown=shown,
        signals=signals,
        width=lambda: width_of(sys.stdout),
        colour=wants_colour(sys.stdout),
        joins=joins,
        choice=choice,
    )


def _refuse_a_new_job(asked: dict[str, Any]) -> None:
    """A run that goes on has its settings."""
    others = asked.keys() - {"resume", "quiet", "tasks", "check", "show", "quiet_tensorflow"}
    given = sorted(n.replace("_", " ") for n in others if asked[n] not in (None, (), False))
    if given:
        raise UsageError(
            f"--resume goes on with a job that has its settings, and {given[0]} was given, too",
            do="leave that out: holdfast run --resume RUN_DIR",
        )


def _refuse_if_nothing_began(run_dir: RunDir) -> None:
    try:
        os.stat(RECORD, dir_fd=run_dir.fd, follow_symlinks=False)
    except FileNotFoundError as error:
        raise Unreachable(
            "the supervisor of this run died before any task was started",
            do="start the job again, in another run directory",
        ) from error


def _check(job: Job, plan: Plan) -> None:
    """What would surely keep the cluster from starting is said before anything starts."""
    where = {"at_s": 0.0, "host": socket.gethostname(), "task": None}
    facts = preflight(plan, os.environ, where, fixed_ports=bool(job.addresses))
    findings = diagnose(Evidence(facts)).findings
    for finding in findings:
        if finding.severity is not Severity.INFO:
            click.echo(f"{finding.severity}[{finding.name}]: {fit(finding.proof.says)}", err=True)
            for fix in finding.proof.do:
                click.echo(f"   = fix      {fit(fix)}", err=True)
    # Not every job is as large as TensorFlow: memory alone stops nobody.
    if any(
        finding.severity is Severity.ERROR and finding.name != "host-too-small"
        for finding in findings
    ):
        click.echo("nothing was started; --no-check starts it all the same", err=True)
        sys.exit(PREFLIGHT_CODE)


def _chosen(tasks: tuple[TaskId, ...], wanted: str | None) -> tuple[TaskId, ...]:
    """The tasks to show: `worker:0,ps` is one worker and all parameter servers."""
    if wanted is None:
        return tasks
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise UsageError("--tasks names nobody", do="write --tasks worker:0,ps, or use --quiet")
    for name in names:
        if not any(name in {str(task), task.role} for task in tasks):
            known = ", ".join(map(str, tasks))
            raise UsageError(f"--tasks: this job has no {name!r}", do=f"its tasks are {known}")
    return tuple(task for task in tasks if {str(task), task.role} & set(names))


def _about(job: Job, plan: Plan) -> dict[str, Any]:
    """run.json: what was asked and planned. Of the environment, the names only."""
    return {
        "schema": "holdfast.run/1",
        "run_id": plan.run_id,
        "holdfast": __version__,
        "python": sys.version.split()[0],
        "job": {
            "command": list(_without_secrets(job.command)),
            "workers": job.workers,
            "ps": job.ps,
            "chief": job.chief,
            "evaluator": job.evaluator,
            "env": sorted(job.env),
            "grace_s": job.grace_s,
            "keep_bytes": job.keep_bytes,
            "start_deadline_s": job.start_deadline_s,
            "hang_after_s": job.hang_after_s,
            "on_failure": job.on_failure,
            "max_relaunches": job.max_relaunches,
            "checkpoint_dir": job.checkpoint_dir,
            "dry_run": job.dry_run,
            "preempt_signal": job.preempt_signal,
            "launch_for": job.launch_for,
            "guard_hdf5": job.guard_hdf5,
            "profile_stragglers_s": job.profile_stragglers_s,
            "show": job.show,
            "quiet_tensorflow": job.quiet_tensorflow,
        },
        "cluster": {str(task): where for task, where in plan.cluster.addresses.items()},
        "plan": redact(plan.text()),
    }


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    """As `redact`, also where a secret follows its name as a word of its own."""
    for name, word in pairwise(("", *words)):
        quoted = shlex.quote(word)
        pair = redact(f"{name} {quoted}")
        is_secret = pair.startswith(f"{name} ") and not pair.endswith(f" {quoted}")
        yield pair.removeprefix(f"{name} ").strip("'") if is_secret else redact(word)


def _gathered_signals() -> list[int]:
    """The signals that came, oldest first. From here on none is lost, nor ends us."""
    came: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda got, _: came.append(got))
    return came


def _supervisor_log(run_dir: RunDir) -> int:
    return open_for_append("supervisor.log", dir_fd=run_dir.fd)
