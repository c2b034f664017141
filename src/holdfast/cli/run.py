"""`holdfast run`: start a cluster here, show what it does, and say how each task ended."""

import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
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
from holdfast.launch.local import backend, proxy_exceptions
from holdfast.logdir.journal import is_being_written, read_journal
from holdfast.logdir.private_files import open_for_append
from holdfast.logdir.run_dir import RunDir, create_run_dir, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Severity
from holdfast.model.foreign import FRAMEWORKS
from holdfast.model.job import ON_FAILURE, PREEMPT_SIGNALS, Job
from holdfast.model.plan import Plan
from holdfast.model.redact import redact
from holdfast.model.submission import encode_plan
from holdfast.views.front import Front, Held
from holdfast.views.report import fit

PREFLIGHT_CODE = 3


# What is done about a failure; None means: not said here.
_RECOVERY = (
    click.option(
        "--on-failure",
        type=click.Choice(ON_FAILURE),
        help="When a task fails for a reason that a new start can help: end the job,"
        " bring it back, or ask.  [default: stop]",
    ),
    click.option(
        "--max-relaunches",
        type=int,
        metavar="N",
        help="How often the whole job may be relaunched.  [default: 3]",
    ),
    click.option(
        "--checkpoint-dir",
        metavar="DIR",
        help="Where the job keeps its checkpoints: before a relaunch the newest whole one"
        " is made the one that it restores.",
    ),
    click.option(
        "--dry-run/--no-dry-run",
        default=None,
        help="Say what would be done about a failure, and do nothing about it.",
    ),
    click.option(
        "--preempt-signal",
        type=click.Choice(PREEMPT_SIGNALS),
        help="What asks the tasks to save and end when this job gets SIGTERM, or by holdfast stop."
        "  [default: SIGTERM]",
    ),
)

# What its program can do or wants to hear.
_OF_THE_PROGRAM = (
    click.option(
        "--for",
        "launch_for",
        type=click.Choice(FRAMEWORKS),
        help="Set what this framework reads, too: RANK, MASTER_ADDR … or JAX_COORDINATOR_ADDRESS …",
    ),
    click.option(
        "--guard-hdf5/--no-guard-hdf5",
        default=None,
        help="Stop a task that opens an HDF5 file with h5py to write while another one writes it.",
    ),
    click.option(
        "--profile-stragglers",
        "profile_stragglers_s",
        type=float,
        metavar="S",
        help="Take a trace of S seconds of each task that keeps the others waiting, once."
        "  [default: none]",
    ),
)


def _options(function: Callable[..., None]) -> Callable[..., None]:
    """The settings that a job file may hold too; None means: not said here."""
    for option in reversed(
        (
            click.option("--chief/--no-chief", default=None, help="Add a chief task."),
            click.option("--ps", type=int, metavar="N", help="Parameter servers.  [default: 0]"),
            click.option(
                "--workers", type=int, metavar="N", help="Workers.  [default: 1; 0 with --chief]"
            ),
            click.option("--evaluator/--no-evaluator", default=None, help="Add an evaluator task."),
            click.option(
                "--run-dir",
                metavar="DIR",
                help="Where logs, journal and report go; must be new or empty."
                "  [default: holdfast-runs/TIME-ID]",
            ),
            click.option(
                "--env",
                multiple=True,
                metavar="K=V",
                help="An environment variable for every task; may be given again.",
            ),
            click.option(
                "--grace-s",
                type=float,
                metavar="S",
                help="Seconds between asking a task to end and killing it.  [default: 15]",
            ),
            click.option(
                "--start-deadline-s",
                type=float,
                metavar="S",
                help="Seconds until the whole cluster must be up; 0 waits for ever."
                "  [default: 120]",
            ),
            click.option(
                "--keep-bytes",
                metavar="SIZE",
                help="Keep only the newest SIZE of each output file, such as 100M."
                "  [default: all of it]",
            ),
            *_OF_THE_PROGRAM,
            *_RECOVERY,
        )
    ):
        function = option(function)
    return function


@click.command(
    short_help="Start a cluster on this machine, and say how it went.",
    context_settings={"allow_interspersed_args": False},
)
@_options
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
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(**asked: Any) -> None:
    """Run COMMAND once for every task of a TensorFlow cluster on this machine.

    \b
      holdfast run --ps 1 --workers 2 --chief -- python train.py
      holdfast run job.toml
      holdfast run --resume RUN_DIR

    Every task gets a correct TF_CONFIG and a free port. All output is kept in the run
    directory, whatever happens to this terminal. When chief and workers are done, parameter
    servers and evaluator are stopped. Ctrl-C once ends the job gracefully, twice at once.
    The training outlives this terminal and even its supervisor: --resume, or holdfast attach
    RUN_DIR, takes it up again.

    With --on-failure recover, a job that was killed from outside or hangs is brought back: one task
    alone where TensorFlow allows it, else all of them. A mistake in the program never is.

    \b
    Exit codes: 0 all chiefs and workers finished, at once or after a relaunch; 1 the training
    failed; 2 wrong usage; 3 the check found errors, nothing was started; 75 a fault of the
    machine, or ended by SIGTERM after it had saved, safe to try again; 124 the cluster did not
    come up in time; 127 command not found; 128+N a task was killed by signal N; 130 Ctrl-C;
    66, 73, 74, 77, 78 files, disk, rights, job.
    """
    if asked["resume"] is not None:
        _refuse_a_new_job(asked)
        sys.exit(rejoin(Path(asked["resume"]), tasks=asked["tasks"], quiet=asked["quiet"]))
    job = _reachable(asked_job(asked))
    shown = _chosen(job.tasks, asked["tasks"])
    run_id = _fresh_id()
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
    sys.exit(_front(run_dir, held, job.tasks, shown=shown, signals=signals).run())


def _reachable(job: Job) -> Job:
    """Paths as the supervisor sees them; and nobody is asked where nobody can answer."""
    folder = job.checkpoint_dir
    job = replace(job, checkpoint_dir=str(Path(folder).absolute()) if folder else None)
    unheard = job.on_failure == "ask" and not (sys.stdin.isatty() and sys.stdout.isatty())
    if unheard or job.dry_run:
        return replace(job, on_failure="recover", dry_run=True)
    return job


def rejoin(folder: Path, *, tasks: str | None = None, quiet: bool = False) -> int:
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
    signals = _gathered_signals()
    allow_many_files()
    supervisor = None
    if not is_being_written(run_dir):
        _refuse_if_nothing_began(run_dir)
        supervisor = backend.resume(str(run_dir.path), _supervisor_log(run_dir))
    held = Held(run_dir, supervisor)
    front = _front(run_dir, held, evidence.tasks, shown=shown, signals=signals, joins=True)
    return front.run()


def _front(
    run_dir: RunDir,
    held: Held,
    tasks: tuple[TaskId, ...],
    *,
    shown: tuple[TaskId, ...],
    signals: list[int],
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
    )


def _refuse_a_new_job(asked: dict[str, Any]) -> None:
    """A run that goes on has its settings."""
    others = sorted(asked.keys() - {"resume", "quiet", "tasks", "check"})
    given = [name for name in others if asked[name] not in (None, (), False)]
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


def _fresh_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"


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
            "on_failure": job.on_failure,
            "max_relaunches": job.max_relaunches,
            "checkpoint_dir": job.checkpoint_dir,
            "dry_run": job.dry_run,
            "preempt_signal": job.preempt_signal,
            "launch_for": job.launch_for,
            "guard_hdf5": job.guard_hdf5,
            "profile_stragglers_s": job.profile_stragglers_s,
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
