"""`holdfast rows ls`: who wrote how many rows of what, and whether somebody still does."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from holdfast.cli.rows import errors_of_rows
from holdfast.rows.errors import RowsError
from holdfast.rows.layout import CENTRAL, rows_folder
from holdfast.rows.reading import Part, Source, parts, read_part, source_in, sources
from holdfast.views.sanitise import plain


@dataclass
class Listed:
    """One source as it is now."""

    source: Source
    state: str
    parts: int
    nbytes: int
    rows: dict[str, int]
    dtypes: dict[str, str]
    wrong: list[str]


@click.command(short_help="List tasks, datasets, rows, bytes and states.")
@click.argument("logdir", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(*, logdir: Path, shape: str) -> None:
    """List who wrote what into LOGDIR: tasks, datasets, rows, bytes, states.

    \b
    States: open    its writer lives, or is on another host
            dead    its writer is gone, and left a log that nobody has sealed yet
            sealed  all its rows are in segments
            empty   no part of it is here (any more)
    """
    with errors_of_rows():
        found = listed(logdir)
    if shape == "json":
        click.echo(msgspec.json.format(msgspec.json.encode([_told(one) for one in found])).decode())
        return
    for one in found:
        _show(one)


def listed(logdir: Path) -> list[Listed]:
    """All sources, the central one last."""
    found = sources(logdir)
    central = rows_folder(logdir) / CENTRAL
    if central.is_dir():
        found.append(source_in(central))
    if not found:
        raise RowsError(
            f"there are no rows in {logdir}", do="name the directory of holdfast.rows.open()"
        )
    return [_listed(source) for source in found]


def _listed(source: Source) -> Listed:
    found = parts(source)
    one = Listed(source, _state(found), len(found), 0, {}, {}, [])
    for part in found:
        try:
            one.nbytes += os.stat(part.path).st_size  # noqa: PTH116
            with read_part(part) as content:
                for name, dataset in content.datasets.items():
                    one.rows.setdefault(name, 0)
                    sizes = " x ".join(map(str, dataset.row_shape))
                    one.dtypes[name] = f"{dataset.dtype} {sizes}".strip()
                for block in content.blocks:
                    one.rows[block.dataset.name] += block.rows
        except (RowsError, OSError) as error:
            one.wrong.append(f"{part.path}: {error}")
    return one


def _state(found: list[Part]) -> str:
    if not found:
        return "empty"
    if any(not part.is_over for part in found):
        return "open"
    return "sealed" if all(part.is_segment for part in found) else "dead"


def _told(one: Listed) -> dict[str, Any]:
    source = one.source
    return {
        "task": source.task,
        "incarnation": source.incarnation,
        "folder": str(source.folder),
        "host": source.host,
        "pid": source.pid,
        "started": source.started,
        "state": one.state,
        "parts": one.parts,
        "bytes": one.nbytes,
        "datasets": [
            {"name": name, "dtype": one.dtypes[name], "rows": rows}
            for name, rows in one.rows.items()
        ],
        "wrong": one.wrong,
    }


def _show(one: Listed) -> None:
    source = one.source
    parts_told = f"{one.parts} part{'' if one.parts == 1 else 's'}"
    where = f" on {source.host}, process {source.pid}" if source.host else ""
    head = f"{source.task} (incarnation {source.incarnation}{where}): {one.state}, {parts_told}, "
    click.echo(plain(f"{head}{one.nbytes:,} bytes"))
    width = max(map(len, one.rows), default=0)
    for name, rows in one.rows.items():
        click.echo(plain(f"  {name:{width}}  {rows:>14,} rows of {one.dtypes[name]}"))
    for wrong in one.wrong:
        click.echo(plain(f"  wrong: {wrong}"))
