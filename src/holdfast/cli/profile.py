"""`holdfast profile`: a trace of TensorFlow's profiler from a task that trains on."""

import time
from pathlib import Path
from typing import Any

import click

from holdfast.agent.trace_request import FOLDER, TraceRequest
from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.job import PROFILE_S_MAX, PROFILE_S_MIN
from holdfast.model.words import listed
from holdfast.views.sanitise import plain

LOOK_EVERY_S = 0.1


@click.command(short_help="Record a TensorFlow profiler trace of a task, without stopping it.")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--task", "name", required=True, metavar="ROLE:INDEX", help="Whom to look at.")
@click.option(
    "--seconds",
    type=click.FloatRange(PROFILE_S_MIN, PROFILE_S_MAX),
    default=5.0,
    show_default=True,
    help="For how long.",
)
def command(*, run_dir: Path, name: str, seconds: float) -> None:
    """Ask a task of a run that lives for a trace of TensorFlow's profiler, for TensorBoard.

    The task's own program records it, at its next step and while it trains on: it must tell its
    steps by holdfast.tf.Callback, holdfast.tf.Hook or holdfast.progress. The trace lies in
    RUN_DIR/profile/.

    \b
    Exit codes: 0 recorded; 69 the task did not answer, or could not; 66 there is no such run;
    2 wrong usage.
    """
    with open_run_dir(run_dir) as folder:
        task = _chosen(folder, name)
        request = TraceRequest(folder, task, seconds)
        answer = _awaited(request)
    if answer.get("error"):
        raise Unreachable(
            f"{task} could not record a trace: {plain(str(answer['error']))}",
            do="what else profiles in this program, such as TensorBoard's callback, must end first",
        )
    steps = [answer.get("from_step"), answer.get("to_step")]
    told = f", steps {steps[0]} to {steps[1]}" if None not in steps else ""
    click.echo(f"{task}: {seconds:g} s{told}: {request.traces}")
    click.echo(f"show it: tensorboard --logdir {folder.path / FOLDER}")


def _chosen(folder: RunDir, name: str) -> TaskId:
    task = TaskId.parse(name)
    evidence = Evidence(read_journal(folder).facts)
    if task not in evidence.tasks:
        has = listed(evidence.tasks)
        raise UsageError(f"there is no {task} in this run", do=f"it has {has}")
    if evidence.exit_of(task) is not None:
        raise Unreachable(f"{task} has ended", do="a trace is of a task that trains")
    return task


def _awaited(request: TraceRequest) -> dict[str, Any]:
    """The task's answer. A question that nobody has taken is withdrawn."""
    while (answer := request.look()) is None:
        time.sleep(LOOK_EVERY_S)
    return answer
