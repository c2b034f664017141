"""`holdfast diagnose`: what happened in a run, from its journal."""

import sys
from pathlib import Path

import click
import msgspec

from holdfast.cli import wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.logdir.journal import is_being_written, read_journal
from holdfast.logdir.run_dir import log_name, open_run_dir
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Verdict
from holdfast.views.report import report
from holdfast.views.text import report_text

EXIT_CODES = {Verdict.HEALTHY: 0, Verdict.SICK: 1, Verdict.CANNOT_TELL: 1}


@click.command(short_help="Say what went wrong in a run, from its journal.")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(run_dir: Path, shape: str) -> None:
    """Say what went wrong in RUN_DIR: root cause, culprit, evidence, fix.

    Reads the journal of a run, finished or not, and changes nothing. Exits with 0 when all
    is well, 1 when something failed, 65 or 66 when there is nothing to read.
    """
    folder = open_run_dir(run_dir)
    replay = read_journal(folder)
    evidence = Evidence(replay.facts)
    diagnosis = diagnose(evidence)
    shown = report(diagnosis, evidence, log_name=log_name)
    verdict = diagnosis.verdict
    if not any(evidence.of(AttemptEnded)) and not is_being_written(folder):
        shown["unknown"] = [*shown["unknown"], "the end: nobody writes this journal any more"]
        verdict = Verdict.CANNOT_TELL if verdict is Verdict.HEALTHY else verdict
        shown["verdict"] = str(verdict)
    if replay.skipped:
        lost = f"{replay.skipped} records of the journal: {replay.why_skipped}"
        shown["unknown"] = [*shown["unknown"], lost]
    if shape == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(shown)).decode())
    else:
        colour = wants_colour(sys.stdout)
        text = report_text(shown, width=width_of(sys.stdout), colour=colour)
        click.echo(text, color=colour)
        if verdict is Verdict.HEALTHY:  # calm is not complete: the run may go on
            for gap in shown["unknown"]:
                click.echo(f"unknown: {gap}")
    sys.exit(EXIT_CODES[verdict])
