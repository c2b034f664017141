"""`holdfast profile`: a trace of TensorFlow's profiler from a task that trains on."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import click

from holdfast.agent.in_task_env import IN_TASK
from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.words import listed
from holdfast.views.sanitise import plain

SECONDS_MIN, SECONDS_MAX = 0.1, 60.0
TAKEN_S_MAX = 15.0  # until a task that makes steps has taken the question
WRITTEN_S_MAX = 60.0  # until its trace is written
LOOK_EVERY_S = 0.1
FOLDER = "profile"


@click.command(short_help="Record a TensorFlow profiler trace of a task, without stopping it.")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--task", "name", required=True, metavar="ROLE:INDEX", help="Whom to look at.")
@click.option(
    "--seconds",
    type=click.FloatRange(SECONDS_MIN, SECONDS_MAX),
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
        answer = _asked(folder, task, seconds)
    if answer.get("error"):
        raise Unreachable(
            f"{task} could not record a trace: {plain(str(answer['error']))}",
            do="what else profiles in this program, such as TensorBoard's callback, must end first",
        )
    steps = [answer.get("from_step"), answer.get("to_step")]
    told = f", steps {steps[0]} to {steps[1]}" if None not in steps else ""
    click.echo(f"{task}: {seconds:g} s{told}: {folder.path / FOLDER / _stem(task)}")
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


def _asked(folder: RunDir, task: TaskId, seconds: float) -> dict[str, Any]:
    """The task's answer. A question that nobody has taken is withdrawn."""
    number = os.urandom(8).hex()
    question = f"{IN_TASK}/{FOLDER}.{_stem(task)}.request.json"
    answer = folder.path / IN_TASK / f"{FOLDER}.{_stem(task)}.{number}.answer.json"
    folder.write_json(question, {"id": number, "seconds": seconds})
    until_s = time.monotonic() + TAKEN_S_MAX
    while (folder.path / question).exists():
        if time.monotonic() > until_s:
            with contextlib.suppress(FileNotFoundError):
                (folder.path / question).unlink()
                raise Unreachable(
                    f"{task} has made no step within {TAKEN_S_MAX:g} s that its program tells of",
                    do="tell steps by holdfast.tf.Callback, holdfast.tf.Hook or holdfast.progress;"
                    " of a task that hangs, see: holdfast stacks",
                )
        time.sleep(LOOK_EVERY_S)
    until_s = time.monotonic() + seconds + WRITTEN_S_MAX
    while not answer.exists():
        if time.monotonic() > until_s:
            raise Unreachable(
                f"{task} began to record, and wrote no trace within {WRITTEN_S_MAX:g} s after",
                do=f"has it ended? holdfast diagnose {folder.path}",
            )
        time.sleep(LOOK_EVERY_S)
    found = folder.read_json(f"{IN_TASK}/{answer.name}")
    answer.unlink()
    return found if isinstance(found, dict) else {"error": "its answer is none of ours"}


def _stem(task: TaskId) -> str:
    return f"{task.role}-{task.index}"
