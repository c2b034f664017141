"""`holdfast rows export`: rows as Parquet or Arrow files."""

from pathlib import Path

import click

from holdfast.cli.rows import errors_of_rows
from holdfast.rows.exporting import Format, export
from holdfast.views.sanitise import plain


@click.command(short_help="Write rows as Parquet or Arrow files.")
@click.argument("logdir")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="A folder for them."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "arrow"]),
    default="parquet",
    show_default=True,
    help="Of the files.",
)
def command(*, logdir: str, output: Path, form: Format) -> None:
    """Write all rows of LOGDIR, a folder or a URL like s3://bucket/run, into the folder OUTPUT.

    Datasets of a group with as many rows in every task are columns of one file, beside task,
    incarnation, row and time_ns; a dataset that does not fit has a file of its own. Nothing is
    overwritten. Needs pip install 'holdfast[arrow]'.

    \b
    Exit codes: 0 made; 2 refused: a file exists, or rows do not fit together; 65 a file is
    damaged; 66 there are no rows, or no pyarrow; 74 no space.
    """
    with errors_of_rows():
        for one in export(logdir, output, format=form):
            click.echo(plain(f"{one.path}: {one.rows:,} rows of {', '.join(one.datasets)}"))
