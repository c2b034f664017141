"""The options of a command that runs a job: all that a job file may say, too."""

from collections.abc import Callable

import click

from holdfast.model.foreign import FRAMEWORKS
from holdfast.model.job import ON_FAILURE, PREEMPT_SIGNALS
from holdfast.model.line_choice import SHOW

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

# How long it is waited, and for what.
_TIMES = (
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
        help="Seconds until the whole cluster must be up; 0 waits for ever.  [default: 120]",
    ),
    click.option(
        "--hang-after-s",
        type=float,
        metavar="S",
        help="A standstill of so many seconds is an error.  [default: minutes, and many"
        " times the job's longest pause]",
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

# What of their output is shown, while all of it is kept.
_TO_SEE = (
    click.option(
        "--show",
        type=click.Choice(SHOW),
        help="Show lines from this level on; all shows known noise, too. A line that tells no level"
        " is always shown, and the logs have every line.  [default: info]",
    ),
    click.option(
        "--quiet-tensorflow/--no-quiet-tensorflow",
        default=None,
        help="Of what TensorFlow itself writes, show only errors and steps.",
    ),
)


def job_options(function: Callable[..., None]) -> Callable[..., None]:
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
            *_TIMES,
            click.option(
                "--keep-bytes",
                metavar="SIZE",
                help="Keep only the newest SIZE of each output file, such as 100M."
                "  [default: all of it]",
            ),
            *_TO_SEE,
            *_OF_THE_PROGRAM,
            *_RECOVERY,
        )
    ):
        function = option(function)
    return function
