"""`holdfast rows fetch`: a remote log directory as a folder here."""

from pathlib import Path

import click

from holdfast.cli.rows import errors_of_rows
from holdfast.rows.fetching import fetch
from holdfast.views.sanitise import plain


@click.command(short_help="Bring a remote log directory to a folder here.")
@click.argument("url")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The folder.  [default: in /var/tmp]"
)
def command(*, url: str, output: Path | None) -> None:
    """Bring all segments of URL, like s3://bucket/run, to a folder: then merge, list or export it.

    Called again, it brings what is new. Each segment is compared with its checksum.

    \b
    Exit codes: 0 done; 65 a segment is damaged or gone; 66 there are no rows; 74 no space, or no
    connection.
    """
    with errors_of_rows():
        click.echo(plain(str(fetch(url, output))))
