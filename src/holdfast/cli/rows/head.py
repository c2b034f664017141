"""`holdfast rows head`: the first rows of each dataset."""

import sys
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import numpy as np

from holdfast.cli import width_of
from holdfast.cli.rows import errors_of_rows
from holdfast.rows.errors import RowsError
from holdfast.rows.merge_sources import readable, waiting
from holdfast.rows.reading import Source, parts, read_part
from holdfast.views.sanitise import clip, plain

ROWS_MAX: Final = 10_000
_ITEMS_SHOWN: Final = 12  # of one row, for people

Heads = dict[str, list[tuple[str, int, Any]]]


@click.command(short_help="Show the first rows of each dataset.")
@click.argument("logdir", type=click.Path(path_type=Path))
@click.argument("names", metavar="[DATASET]...", nargs=-1)
@click.option(
    "-n",
    "--rows",
    "count",
    type=click.IntRange(1, ROWS_MAX),
    default=5,
    show_default=True,
    help="How many rows of each dataset.",
)
@click.option("--task", help="Only rows of this task.", metavar="ROLE:INDEX")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(
    *, logdir: Path, names: tuple[str, ...], count: int, task: str | None, shape: str
) -> None:
    """Show the first rows in LOGDIR, by task, also those that are still in open logs."""
    with errors_of_rows():
        heads = _heads(logdir, names, count=count, task=task)
    if shape == "json":
        told = [
            {"dataset": name, "rows": [_told(*row) for row in rows]} for name, rows in heads.items()
        ]
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
        return
    for name, rows in heads.items():
        click.echo(plain(name))
        for who, number, value in rows:
            shown = np.array2string(
                np.asarray(value), threshold=_ITEMS_SHOWN, edgeitems=_ITEMS_SHOWN // 4
            )
            line = f"  {who} {number}: {' '.join(shown.split())}"
            click.echo(clip(plain(line), width_of(sys.stdout)))


def _heads(logdir: Path, names: tuple[str, ...], *, count: int, task: str | None) -> Heads:
    found = [*readable(logdir), *waiting(logdir)]
    heads: Heads = {name: [] for name in names}
    known: set[str] = set()
    for source in found:
        if task is None or source.task == task:
            known |= _add(source, heads, names, count=count)
    if not known:
        raise RowsError(
            f"there are no rows{f' of {task}' if task else ''} in {logdir}",
            do="see what there is: holdfast rows ls",
        )
    unknown = set(names) - known
    if unknown:
        raise RowsError(
            f"there is no dataset {', '.join(sorted(unknown))} in {logdir}",
            do=f"it has {', '.join(sorted(known)[:_ITEMS_SHOWN])}",
        )
    return heads


def _add(source: Source, heads: Heads, names: tuple[str, ...], *, count: int) -> set[str]:
    """The first rows of a source go to those that still lack some; returns its datasets."""
    known: set[str] = set()
    for part in parts(source):
        with read_part(part) as content:
            known |= content.datasets.keys()
            wanted = [name for name in names or content.datasets if name in content.datasets]
            # Without names every part is looked into: a later one may have more datasets.
            lacking = {
                name: count - len(heads.setdefault(name, []))
                for name in wanted
                if len(heads.get(name, ())) < count
            }
            if names and not lacking and len(wanted) == len(names):
                break
            for block in content.blocks:
                left = lacking.get(block.dataset.name, 0)
                if left > 0:
                    taken = content.rows_of(block)[:left].copy()
                    heads[block.dataset.name] += (
                        (source.task, block.first_row + place, row)
                        for place, row in enumerate(taken)
                    )
                    lacking[block.dataset.name] = left - len(taken)
    return known


def _told(task: str, number: int, value: Any) -> dict[str, Any]:
    return {"task": task, "row": number, "value": _plain_value(value)}


def _plain_value(value: Any) -> Any:
    """As JSON holds it: complex numbers, bytes and what is not a number become text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, complex) or (isinstance(value, float) and value - value != 0):
        return str(value)
    return value
