"""`holdfast merge`: all rows of a log directory, or of plain HDF5 files, as one HDF5 file."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec

from holdfast.cli.rows import errors_of_rows
from holdfast.model.errors import UsageError
from holdfast.rows.indexing import Indexed, index
from holdfast.rows.merging import Layout, Merged, merge
from holdfast.views.sanitise import plain

EXAMPLES = """\b
Examples:
  holdfast merge runs/1                       an index, at once: runs/1/rows/index.h5
  holdfast merge runs/1 -o all.h5             one file with all rows, task after task
  holdfast merge runs/1 -o all.h5 --order metrics/step
  holdfast merge worker_*.h5 -o all.h5        plain HDF5 files, file after file
  holdfast merge worker_*.h5 -o all.h5 --layout group
"""
NOTED_MAX = 20
FILES_SHOWN_MAX = 200
Told = Callable[[int, int], None]


@click.command(
    short_help="Make one HDF5 file of all rows that tasks have written.", epilog=EXAMPLES
)
@click.argument(
    "sources",
    metavar="LOGDIR|FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to make.")
@click.option(
    "--order",
    default="task",
    show_default=True,
    metavar="task|time|DATASET",
    help="By task; by the time of appending; or by the values of a dataset of numbers, which "
    "sorts it and its neighbours in the same group. Of a log directory only.",
)
@click.option(
    "--layout",
    type=click.Choice(["append", "group"]),
    default="append",
    show_default=True,
    help="Of plain HDF5 files: append the same datasets to each other, with NAME.task beside each; "
    "or a group for each file.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--fresh", is_flag=True, help="Begin anew, even if an earlier merge can go on.")
@click.option("--skip-damaged", is_flag=True, help="Leave out files that are damaged, and say so.")
@click.option(
    "--remove-sources",
    is_flag=True,
    help="Then remove the logs and segments of tasks that are over and wholly in the output.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(
    *, sources: tuple[Path, ...], output: Path | None, order: str, layout: Layout, force: bool,
    fresh: bool, skip_damaged: bool, remove_sources: bool, shape: str,
) -> None:  # fmt: skip
    """Make one plain HDF5 file of all rows that tasks have written.

    Of a LOGDIR in which holdfast.rows has written: without -o it is an index, no row is copied,
    and it is there at once. With -o all rows are copied, every checksum is compared, and only then
    the file appears. Tasks may write meanwhile: what they have appended when it begins is in it.

    Of plain HDF5 files, or a folder with them, whoever wrote them: the same datasets are appended
    along their first axis, in the order of the numbers in the file names (worker_2 before
    worker_10). Files that do not fit or are open for writing are refused before anything is
    written, damaged ones at the latest when their rows are read: the output appears only if all of
    them do. It is read back and compared with the files, which are never changed.

    Killed at any point and called again, it goes on. Nothing is removed unless asked.

    \b
    Exit codes: 0 made; 2 refused: the output exists, or rows do not fit together;
    65 a file is damaged; 66 there are no rows; 73 another merge makes it, or a file is open for
    writing; 74 no space.
    """
    if output is None:
        if order != "task" or layout != "append" or force or fresh or skip_damaged:
            raise UsageError("only a real merge has options", do="name its output with -o FILE")
        if remove_sources or len(sources) > 1 or sources[0].is_file():
            raise UsageError("only a log directory has an index", do="name an output with -o FILE")
        with errors_of_rows():
            _show_index(index(sources[0]), shape)
        return
    with errors_of_rows(), _progress() as progress:
        made = merge(
            sources,
            output,
            order=order,
            layout=layout,
            force=force,
            fresh=fresh,
            skip_damaged=skip_damaged,
            remove_sources=remove_sources,
            progress=progress,
        )
    _show_merged(made, shape)


def _show_merged(made: Merged, shape: str) -> None:
    if shape == "json":
        told = asdict(made)
        del told["taken"]
        _show_json(told | {"output": str(made.output)})
        return
    rows = sum(made.rows.values())
    click.echo(plain(f"{made.output}: {rows:,} rows, {made.nbytes:,} bytes, {made.parts} parts"))
    if made.files:
        shown = ", ".join(Path(file).name for file in made.files[:FILES_SHOWN_MAX])
        more = len(made.files) - FILES_SHOWN_MAX
        click.echo(plain(f"in this order: {shown}" + (f" and {more:,} more" if more > 0 else "")))
    _show_rows(made.rows)
    _show_lines("snapshot of a log that is still written", made.open_logs)
    _show_lines("left out, damaged", made.left_out)
    _show_lines("note", made.notes)
    if made.removed:
        click.echo(f"removed {len(made.removed)} logs and segments, which are in it")


def _show_index(made: Indexed, shape: str) -> None:
    if shape == "json":
        _show_json(asdict(made) | {"path": str(made.path)})
        return
    rows = sum(made.rows.values())
    click.echo(plain(f"{made.path}: {rows:,} rows of {made.segments} segments, none copied"))
    _show_rows(made.rows)
    _show_lines("not in it", made.not_in)
    _show_lines("note", made.notes)


def _show_rows(rows: dict[str, int]) -> None:
    width = max(map(len, rows), default=0)
    for name, count in rows.items():
        click.echo(plain(f"  {name:{width}}  {count:>14,} rows"))


def _show_lines(head: str, lines: tuple[str, ...]) -> None:
    for line in lines[:NOTED_MAX]:
        click.echo(plain(f"{head}: {line}"))
    if len(lines) > NOTED_MAX:
        click.echo(f"{head}: {len(lines) - NOTED_MAX:,} more")


def _show_json(told: dict[str, Any]) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())


@contextmanager
def _progress() -> Iterator[Told | None]:
    """A bar, where a person looks and it takes a while."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich import progress  # noqa: PLC0415 - costs time that a pipe need not pay
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn("merging"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("merging", total=None)

        def on_progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield on_progress
