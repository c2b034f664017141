"""`holdfast run`: start a cluster here, show what it does, and say how each task ended."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import click

from holdfast import __version__
from holdfast.agent.open_files import allow_many_files
from holdfast.agent.preflight import preflight
from holdfast.cli import wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.intake.asked_job import asked_job
from holdfast.launch.local import backend, proxy_exceptions
from holdfast.logdir.run_dir import RunDir, create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import StorageFailed, Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Severity
from holdfast.model.job import Job
from holdfast.model.plan import Plan
from holdfast.model.redact import redact
from holdfast.model.submission import encode_plan
from holdfast.views.live import Screen
from holdfast.views.report import fit
from holdfast.views.text import report_text
from holdfast.views.watch import Watch
from holdfast.wire.door import Request, ask

START_S = 30.0  # how long the supervisor may take until it answers
DRAIN_S = 10.0  # how long the last lines may wait for somebody to take them
LAST_S = 5.0  # how long the supervisor may take to go, once it has said that all is over
PAUSE_S, PAUSE_S_MAX = 0.04, 0.2
REST_FOR_WORK, REST_S_MAX = 33, 0.5  # showing a flood takes 3 % of a core, not more
NICENESS = 5  # showing must not take a core from training
PREFLIGHT_CODE = 3


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
@click.option("--quiet", "-q", is_flag=True, help="Do not show the tasks' output.")
@click.option("--tasks", metavar="LIST", help="Show only these: worker:0,ps")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(**asked: Any) -> None:
    """Run COMMAND once for every task of a TensorFlow cluster on this machine.

    \b
      holdfast run --ps 1 --workers 2 --chief -- python train.py
      holdfast run job.toml

    Every task gets a correct TF_CONFIG and a free port. All output is kept in the run
    directory, whatever happens to this terminal. When chief and workers are done, parameter
    servers and evaluator are stopped. Ctrl-C once ends the job gracefully, twice at once.

    \b
    Exit codes: 0 all chiefs and workers finished; 1 the training failed; 2 wrong usage;
    3 the check found errors, nothing was started; 75 a fault of the machine, safe to try
    again; 124 the cluster did not come up in time; 127 command not found; 128+N a task was
    killed by signal N; 130 Ctrl-C; 66, 73, 74, 77, 78 files, disk, rights, job.
    """
    job = asked_job(asked)
    shown = _chosen(job, asked["tasks"])
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
    front = Front(run_dir, supervisor, job.tasks, shown=shown, signals=signals)
    sys.exit(front.run())


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


def _chosen(job: Job, wanted: str | None) -> tuple[TaskId, ...]:
    """The tasks to show: `worker:0,ps` is one worker and all parameter servers."""
    if wanted is None:
        return job.tasks
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise UsageError("--tasks names nobody", do="write --tasks worker:0,ps, or use --quiet")
    for name in names:
        if not any(name in {str(task), task.role} for task in job.tasks):
            known = ", ".join(map(str, job.tasks))
            raise UsageError(f"--tasks: this job has no {name!r}", do=f"its tasks are {known}")
    return tuple(task for task in job.tasks if {str(task), task.role} & set(names))


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
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
    return os.open("supervisor.log", flags, 0o600, dir_fd=run_dir.fd)


class Front:
    """What the person sees and says. The job does not depend on it."""

    def __init__(
        self,
        run_dir: RunDir,
        supervisor: subprocess.Popen[bytes],
        tasks: tuple[TaskId, ...],
        *,
        shown: tuple[TaskId, ...],
        signals: list[int],
    ) -> None:
        self._run_dir = run_dir
        self._supervisor = supervisor
        self._asked = signals  # those that are not yet passed on
        self._interrupts = 0
        self._ready_by_s = time.monotonic() + START_S
        self._screen = Screen(
            1,
            width=width_of(sys.stdout),
            colour=wants_colour(sys.stdout),
            is_tty=sys.stdout.isatty(),
            tasks=[str(task) for task in tasks],
        )
        self._watch = Watch(run_dir, tasks, self._screen, shown=shown, is_tty=sys.stdout.isatty())

    def run(self) -> int:
        """Until the job has ended, or the terminal is gone."""
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # `nohup` means: stay
            signal.signal(signal.SIGHUP, self._hang_up)
        os.nice(NICENESS)
        began_s = time.monotonic()
        pause_s = PAUSE_S
        while self._watch.ended is None:
            # Asked first: the last words of one that has gone by now are read after this.
            gone = self._supervisor.poll() is not None
            began_cpu_s = time.process_time()
            busy = self._watch.step(time.monotonic() - began_s, width=width_of(sys.stdout))
            self._pass_on()
            if gone and not busy and self._watch.ended is None:
                self._lost_supervisor()
            pause_s = PAUSE_S if busy else min(pause_s * 1.5, PAUSE_S_MAX)
            rest_s = REST_FOR_WORK * (time.process_time() - began_cpu_s)
            time.sleep(min(max(pause_s, rest_s), REST_S_MAX))
        left = self._drain(began_s)
        return self._finish(self._watch.ended, left)

    def _drain(self, began_s: float) -> int:
        """The last lines, as long as somebody takes them; how many nobody took."""
        least = sys.maxsize
        deadline_s = time.monotonic() + DRAIN_S
        while left := self._watch.drain(time.monotonic() - began_s, width=width_of(sys.stdout)):
            if self._asked or (left >= least and time.monotonic() > deadline_s):
                return self._watch.lines_left()
            if left < least:
                least, deadline_s = left, time.monotonic() + DRAIN_S
            else:
                time.sleep(PAUSE_S)
        return 0

    def _pass_on(self) -> None:
        """Every signal goes to the supervisor, who decides; a second Ctrl-C means now."""
        while self._asked:
            number = self._asked[0]
            by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
            try:
                ask(self._run_dir.fd, self._request(number, by))
            except Unreachable as error:
                if self._supervisor.poll() is None and time.monotonic() < self._ready_by_s:
                    return  # it is still starting
                self._watch.say(f"{by} could not be passed on: {error.message}")
            else:
                if number == signal.SIGINT:
                    self._interrupts += 1
                    again = "ending at once" if self._interrupts > 1 else "again to end at once"
                    self._watch.say(f"Ctrl-C: the tasks are asked to end ({again})")
            del self._asked[0]

    def _request(self, number: int, by: str) -> Request:
        if number in {signal.SIGUSR1, signal.SIGUSR2}:
            return Request(ask="signal", signal=number, by=by)
        now = number == signal.SIGINT and self._interrupts > 0
        return Request(ask="kill" if now else "stop", signal=number, by=by)

    def _lost_supervisor(self) -> None:
        self._screen.close(DRAIN_S)
        code = self._supervisor.returncode
        if code == StorageFailed.exit_code:
            raise StorageFailed(
                f"the job has ended, but its journal and report did not fit into"
                f" {self._run_dir.path}",
                do=f"free space there (df -h), then read {self._run_dir.path}/logs",
            )
        raise Unreachable(
            f"the supervisor ended unexpectedly ({code}); tasks that had started run on",
            do=f"read {self._run_dir.path}/supervisor.log, then"
            f" holdfast diagnose {self._run_dir.path}",
        )

    def _hang_up(self, *_: object) -> None:
        """The terminal is gone: the job goes on without it."""
        os._exit(128 + signal.SIGHUP)

    def _finish(self, ended: AttemptEnded, left: int) -> int:
        dropped = self._screen.lines_not_shown
        left += self._screen.close(DRAIN_S) - dropped
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(LAST_S)
        # A terminal may stay stopped for ever; whoever is tired of it may end us now.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(ended.exit_code))
        shown = cast("dict[str, Any]", self._run_dir.read_json("report.json"))
        words = [f"… the last {left:,} lines were not shown here; all are in logs/"] if left else []
        words.append(
            report_text(shown, width=width_of(sys.stdout), colour=wants_colour(sys.stdout))
        )
        if ended.exit_code and shown["verdict"] == "healthy":
            words.append(f"{ended.why}: exit code {ended.exit_code}")
        words.append(f"logs, journal and report: {self._run_dir.path}")
        try:
            click.echo("\n".join(words), color=wants_colour(sys.stdout))
        except OSError:  # whoever watched has gone: the report is on disk
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python complains at its end
        return ended.exit_code
