"""`holdfast rows`: look at rows that tasks have written; one file per sub-command."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from holdfast.cli import Commands
from holdfast.model.errors import (
    BadInput,
    HoldfastError,
    MissingInput,
    NotOurs,
    StorageFailed,
    UsageError,
)
from holdfast.rows.errors import Damaged, Held, Missing, Refused, RowsError, Unwritable
from holdfast.views.sanitise import plain

_KINDS: tuple[tuple[type[RowsError], type[HoldfastError]], ...] = (
    (Damaged, BadInput),
    (Held, NotOurs),
    (Missing, MissingInput),
    (Refused, UsageError),
    (Unwritable, StorageFailed),
    (RowsError, MissingInput),
)


class RowsCommands(Commands):
    folder = "holdfast.cli.rows"


@click.group(cls=RowsCommands, short_help="Look at the rows that tasks have written.")
def command() -> None:
    """Look at the rows that tasks have written with holdfast.rows.

    `holdfast merge` makes one HDF5 file of them.
    """


@contextmanager
def errors_of_rows() -> Iterator[None]:
    """What goes wrong with rows, as an error of a command."""
    try:
        yield
    except RowsError as error:
        kind = next(ours for theirs, ours in _KINDS if isinstance(error, theirs))
        raise kind(plain(error.message), do=plain(error.do)) from error
