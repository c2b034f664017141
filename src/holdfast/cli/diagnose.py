"""`holdfast diagnose`: what happened, from the journal of a run or from logs alone."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from holdfast.agent.left_behind import left_unread
from holdfast.cli import wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.logdir.journal import read_journal
from holdfast.logdir.journal_lock import is_being_written
from holdfast.logdir.run_dir import RUN_FILE, log_name, open_run_dir
from holdfast.logs.on_ray import ray_scan
from holdfast.logs.read import Progress, Scan, local_scan, read_with
from holdfast.model.errors import MissingInput, StorageFailed
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Verdict
from holdfast.recover.fresh import since_restart
from holdfast.views.github import report_github
from holdfast.views.html import report_html
from holdfast.views.junit import report_junit
from holdfast.views.markdown import report_markdown
from holdfast.views.recovery_story import with_recovery
from holdfast.views.report import fit, report
from holdfast.views.sanitise import plain
from holdfast.views.sarif import report_sarif
from holdfast.views.stop_story import with_stop
from holdfast.views.text import report_text

EXIT_CODES = {Verdict.HEALTHY: 0, Verdict.SICK: 1, Verdict.CANNOT_TELL: 1}
UNREAD_SHOWN_MAX = 20
EXAMPLES = """\b
Examples:
  holdfast diagnose worker-0.log worker-1.log   the logs of one job
  holdfast diagnose logs/ 'old/*.log.gz'        folders, patterns, packed files
  holdfast diagnose job-17.tar.gz logs.zip      archives of logs
  kubectl logs my-pod | holdfast diagnose -     standard input
  holdfast diagnose runs/2026-11-15             the journal of `holdfast run`
"""

Report = dict[str, Any]
SHAPES: dict[str, Callable[[Report], str]] = {
    "json": lambda shown: msgspec.json.format(msgspec.json.encode(shown)).decode() + "\n",
    "sarif": report_sarif,
    "junit": report_junit,
    "github": report_github,
    "markdown": report_markdown,
    "html": report_html,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The report, and what it comes down to."""

    report: Report
    verdict: Verdict


@click.command(
    short_help="Say what went wrong, from logs or from the journal of a run.", epilog=EXAMPLES
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", *SHAPES]),
    default="text",
    show_default=True,
    help="For people, for programs, or for CI.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the report there.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="Processes that read.  [default: one for each core]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Who reads: this host, or a Ray cluster whose hosts share the files.",
)
def command(
    paths: tuple[str, ...], *, shape: str, output: str | None, jobs: int | None, engine: str
) -> None:
    """Say what went wrong: root cause, culprit, evidence, fix.

    PATH is a log, a folder of logs, a pattern of names, `-` for standard input, or the
    directory that `holdfast run` wrote to. Files packed with gzip, bzip2, xz or zstd, and
    archives of logs (zip, tar) are read as they are. Nothing is unpacked to a disk, nothing is
    changed.

    Exits with 0 when all is well, 1 when something failed or nobody can tell, 2, 65 or 66 when
    there is nothing to read.
    """
    if not paths:
        raise click.UsageError(f"name at least one log\n\n{EXAMPLES.lstrip(chr(8)).strip()}")
    run_dir = Path(paths[0])
    is_run = len(paths) == 1 and (run_dir / RUN_FILE).is_file()
    scan = ray_scan() if engine == "ray" else local_scan(jobs or 0)
    told = _of_run(run_dir) if is_run else _of_logs(paths, scan)
    _show(told, shape, output)
    sys.exit(EXIT_CODES[told.verdict])


def _of_run(run_dir: Path) -> Told:
    folder = open_run_dir(run_dir)
    replay = read_journal(folder)
    evidence = Evidence(since_restart(replay.facts))
    if unread := list(left_unread(folder, evidence, replay.facts)):
        evidence = Evidence((*evidence.facts, *unread))
    diagnosis = diagnose(evidence)
    shown = with_stop(report(diagnosis, evidence, log_name=log_name), evidence)
    shown = with_recovery(shown, replay.facts)
    verdict = diagnosis.verdict
    if not any(evidence.of(AttemptEnded)) and not is_being_written(folder):
        shown["unknown"] = [*shown["unknown"], "the end: nobody writes this journal any more"]
        verdict = Verdict.CANNOT_TELL if verdict is Verdict.HEALTHY else verdict
        shown["verdict"] = str(verdict)
    if replay.skipped:
        lost = f"{replay.skipped} records of the journal: {replay.why_skipped}"
        shown["unknown"] = [*shown["unknown"], lost]
    return Told(shown, verdict)


def _of_logs(paths: tuple[str, ...], scan: Scan) -> Told:
    with _progress() as on_progress:
        reading = read_with(scan, paths, on_progress=on_progress)
    if not reading.files:
        why = "; ".join(reading.unknown[:3]) or "the folder holds no logs"
        raise MissingInput(
            plain(f"there is nothing to read: {why}"), do="name a log, or a folder that holds some"
        )
    evidence = Evidence(reading.facts)
    diagnosis = diagnose(evidence)
    shown = report(diagnosis, evidence, log_name=log_name)
    shown["unknown"] = [*shown["unknown"], *map(fit, _few(reading.unknown))]
    return Told(shown, diagnosis.verdict)


def _few(unknown: tuple[str, ...]) -> Iterator[str]:
    yield from unknown[:UNREAD_SHOWN_MAX]
    if len(unknown) > UNREAD_SHOWN_MAX:
        yield f"{len(unknown) - UNREAD_SHOWN_MAX:,} more files or parts of them could not be read"


def _show(told: Told, shape: str, output: str | None) -> None:
    if output is not None:
        text = (
            _text(told, colour=False, width=100) if shape == "text" else SHAPES[shape](told.report)
        )
        _write(output, text)
        return
    if shape == "text":
        colour = wants_colour(sys.stdout)
        text = _text(told, colour=colour, width=width_of(sys.stdout))
        click.echo(text, nl=False, color=colour)
    else:
        click.echo(SHAPES[shape](told.report), nl=False)


def _text(told: Told, *, colour: bool, width: int) -> str:
    text = report_text(told.report, width=width, colour=colour) + "\n"
    if told.verdict is Verdict.HEALTHY:  # calm is not complete: the run may go on
        text += "".join(f"unknown: {gap}\n" for gap in told.report["unknown"])
    return text


def _write(output: str, text: str) -> None:
    try:
        Path(output).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        why = f"cannot write {plain(output)}: {error.strerror}"
        raise StorageFailed(why, do="choose another place for -o") from error


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar, where a person looks and it takes a while."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich import progress  # noqa: PLC0415 - costs time that a pipe need not pay
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn("reading"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def on_progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield on_progress
