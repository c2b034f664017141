"""Rescue: what can still be read of a damaged HDF5 file or log directory, in a new file.

The original is opened for reading only; where it must be changed to be read, a copy is. Reading
goes on in processes that may crash over it, with bounds of time and memory.
"""

import os
from pathlib import Path

from holdfast.rows.errors import Refused, RowsError, unwritable
from holdfast.rows.rescuing.reader import Reader
from holdfast.rows.rescuing.report import LostObject, LostRows, Rescued, RescuedDataset

__all__ = ["LostObject", "LostRows", "Reader", "Rescued", "RescuedDataset", "rescue"]


def rescue(
    path: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    reader: Reader | None = None,
) -> Rescued:
    """Save what reads of a file or of a log directory into a new file, by default FILE.rescued.h5.

    FileNotFoundError when there is nothing at `path`; Refused when `to` exists. Whoever rescues
    many files passes one `Reader` for all of them.
    """
    source = Path(path)
    source.stat()
    target = Path(to) if to is not None else default_target(source)
    if target.exists() or target.is_symlink():
        raise Refused(f"{target} exists already, and nothing is overwritten", do="name another: -o")
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {target.parent}", do="make it first")
    try:
        if reader is not None:
            return _rescued(source, target, reader)
        with Reader() as own:
            return _rescued(source, target, own)
    except FileExistsError as error:
        raise Refused(f"{target} came into being meanwhile", do="name another: -o") from error
    except PermissionError as error:
        raise RowsError(
            f"{error.filename or source}: {error.strerror}", do="ask for the right"
        ) from error
    except OSError as error:
        raise unwritable(
            error.filename or target, error, do="make room, or name another: -o"
        ) from error


def default_target(source: Path) -> Path:
    """Beside the source, under a name that says what it is."""
    return source.resolve().with_name(f"{source.resolve().name}.rescued.h5")


def _rescued(source: Path, target: Path, reader: Reader) -> Rescued:
    from holdfast.rows.rescuing import folder, foreign  # noqa: PLC0415

    if source.is_dir():
        return folder.rescue_folder(source, target, reader)
    return foreign.rescue_file(source, target, reader)
