"""`holdfast stop`: end a job that runs in the background, or whose terminal is gone."""

import signal
from pathlib import Path

import click

from holdfast.logdir.run_dir import open_run_dir
from holdfast.wire.door import Request, ask


@click.command(short_help="End a job whose terminal is gone.")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--now", is_flag=True, help="Kill at once, without the grace to save a checkpoint.")
def command(run_dir: Path, now: bool) -> None:  # noqa: FBT001 - click passes flags so
    """End the job in RUN_DIR: its tasks are asked to save and end, and killed after their grace.

    They are asked with SIGTERM, or with what --preempt-signal of `holdfast run` said.
    """
    what = Request(ask="kill" if now else "stop", signal=signal.SIGTERM.value, by="holdfast stop")
    ask(open_run_dir(run_dir).fd, what)
    click.echo("asked the job to end; `holdfast diagnose` shows how it did", err=True)
