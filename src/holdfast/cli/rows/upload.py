"""`holdfast rows upload`: finishes what killed writers of remote log directories left here."""

import sys
from pathlib import Path

import click

from holdfast.cli.rows import errors_of_rows
from holdfast.rows.errors import RowsError
from holdfast.rows.spool import default_root
from holdfast.rows.uploading import upload_spool
from holdfast.views.sanitise import plain


@click.command(short_help="Upload the rows that writers left in a spool.")
@click.argument("spool", type=click.Path(path_type=Path), required=False)
def command(*, spool: Path | None) -> None:
    """Upload what waits in SPOOL for a remote log directory and has no living writer.

    SPOOL is the folder that an error named; by default all below /var/tmp/holdfast-rows-UID.
    May be repeated: what is there already is compared, not doubled.

    \b
    Exit codes: 0 all is uploaded; 1 something is not; 66 that is no spool; 74 no connection.
    """
    failed = False
    with errors_of_rows():
        for one in upload_spool(spool or default_root()):
            if isinstance(one, RowsError):
                failed = True
                click.echo(plain(f"not uploaded: {one}"), err=True)
            else:
                click.echo(plain(f"{one.name}: {one.nbytes:,} bytes"))
    sys.exit(1 if failed else 0)
