"""`holdfast rows verify`: reads every row and compares every checksum."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from holdfast.cli.rows import errors_of_rows
from holdfast.model.errors import MissingInput
from holdfast.rows.verifying import Verified, verify, verify_merged
from holdfast.views.sanitise import plain


@click.command(short_help="Read every row and compare every checksum.")
@click.argument("place", metavar="LOGDIR|FILE", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(*, place: Path, shape: str) -> None:
    """Read every row of a log directory, or of a file that `holdfast merge` made.

    Nothing is changed. Exits with 0 if all is as it was written, with 1 if something is not.
    """
    if not place.exists():
        raise MissingInput(f"there is no {plain(str(place))}", do="name a log directory or a file")
    with errors_of_rows():
        found = [Verified(place, verify_merged(place))] if place.is_file() else list(verify(place))
    if not found:
        raise MissingInput(
            f"there are no rows in {plain(str(place))}",
            do="name the directory of holdfast.rows.open()",
        )
    wrong = [one for one in found if one.wrong]
    if shape == "json":
        click.echo(_json(found))
    else:
        _show(found, wrong)
    sys.exit(1 if wrong else 0)


def _json(found: Iterable[Verified]) -> str:
    told = [
        {"path": str(one.path), "rows": one.rows, "wrong": one.wrong, "note": one.note}
        for one in found
    ]
    return msgspec.json.format(msgspec.json.encode(told)).decode()


def _show(found: list[Verified], wrong: list[Verified]) -> None:
    for one in wrong:
        click.echo(f"wrong: {plain(one.wrong)}")
    for one in found:
        if one.note:
            click.echo(plain(f"note: {one.path}: {one.note}"))
    rows = sum(one.rows for one in found)
    good = len(found) - len(wrong)
    click.echo(f"{good} of {len(found)} parts are as they were written: {rows:,} rows")
