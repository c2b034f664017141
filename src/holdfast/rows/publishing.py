"""A file appears whole or not at all: a private name, fsync, rename, fsync of the folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.rows.layout import sync_folder, temporary_name


@contextmanager
def private_path(target: Path) -> Iterator[Path]:
    """A name beside the target that nobody else uses; what is left there at the end goes."""
    private = target.with_name(temporary_name(target.name))
    try:
        yield private
    finally:
        discard(private)


def publish(private: Path, target: Path) -> None:
    """Puts a finished file in the place of whatever is there."""
    sync_file(private)
    private.replace(target)
    sync_folder(target.parent)


def publish_new(private: Path, target: Path) -> None:
    """Gives a finished file its name; FileExistsError if another has it. The private one stays."""
    sync_file(private)
    try:
        os.link(private, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(target) from None
        private.replace(target)
    sync_folder(target.parent)


def discard(path: Path) -> None:
    """Removes what is superfluous; where the disk refuses, whoever starts next removes it."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
