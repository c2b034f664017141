"""`holdfast rescue`: what can still be read of a damaged HDF5 file or log directory."""

import sys
from pathlib import Path

import click
import msgspec

from holdfast.model.errors import BadInput, MissingInput, StorageFailed, UsageError
from holdfast.rows.errors import Refused, RowsError, Unwritable
from holdfast.rows.rescuing import Rescued, rescue
from holdfast.views.rescue_text import rescue_text
from holdfast.views.sanitise import plain

LOST_CODE = 1


@click.command(short_help="Save what still reads of a damaged HDF5 file or log directory.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The new HDF5 file.  [default: PATH.rescued.h5]",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(*, path: Path, output: Path | None, shape: str) -> None:
    """Save what still reads of PATH into a new HDF5 file, and say what is lost.

    PATH is an HDF5 file that anybody wrote, cut, marked as open, with flipped bytes or without
    its beginning, or a log directory with rows. It is only read, never changed; nothing is
    overwritten. A crash of the HDF5 library over a damaged file is survived.

    HDF5 keeps no checksum of rows unless the file was made with one: such rows are marked as
    unchecked, because what reads may still differ from what was written.

    \b
    Exit codes: 0 all was recovered; 1 something is lost; 65 nothing could be recovered, or it is
    no HDF5; 66 there is no such file; 73 and 74 the new file cannot be written; 2 wrong usage.
    """
    found = _rescued(path, output)
    if shape == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found.to_json())).decode())
    else:
        click.echo(rescue_text(found), nl=False)
    sys.exit(_exit_code(found))


def _rescued(path: Path, output: Path | None) -> Rescued:
    try:
        return rescue(path, to=output)
    except FileNotFoundError as error:
        raise MissingInput(
            f"there is no {plain(str(error.filename or path))}", do="look at its name: ls -la"
        ) from error
    except Refused as error:
        raise UsageError(plain(error.message), do=plain(error.do)) from error
    except Unwritable as error:
        raise StorageFailed(plain(error.message), do=plain(error.do)) from error
    except RowsError as error:
        raise BadInput(plain(error.message), do=plain(error.do)) from error


def _exit_code(found: Rescued) -> int:
    if found.is_whole:
        return 0
    return LOST_CODE if found.to is not None else BadInput.exit_code
