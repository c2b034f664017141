"""A stranger's file as text: bounded, decoded, and every way it can go wrong has a sentence."""

import os
import stat
import sys

from holdfast.model.errors import BadInput, MissingInput

FILE_BYTES_MAX = 4 << 20


def read_bytes(name: str, bytes_max: int) -> bytes:
    """The whole of a file, or of a pipe that somebody writes to."""
    try:
        # Without O_NONBLOCK, a pipe that nobody writes to would hold us here for ever.
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a name"
        raise MissingInput(
            f"{name} cannot be read: {why}",
            do="name a file, host:port, role=host:port,host:port, or a literal TF_CONFIG",
        ) from error
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise BadInput(f"{name} is neither a file nor a pipe")
        os.set_blocking(fd, True)  # a pipe that somebody still writes to: <(command)
        return _bounded(name, file.read(bytes_max + 1), bytes_max)


def read_standard_input(bytes_max: int) -> bytes:
    return _bounded("standard input", sys.stdin.buffer.read(bytes_max + 1), bytes_max)


def _bounded(name: str, raw: bytes, bytes_max: int) -> bytes:
    if len(raw) > bytes_max:
        raise BadInput(
            f"{name} is larger than {bytes_max >> 20} MiB",
            do="name the file that holds the definition",
        )
    return raw


def text_of(raw: bytes, name: str) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name} is not text: {error.reason} at byte {error.start}",
            do="name a file that holds a TF_CONFIG in UTF-8",
        ) from error
    if "\0" in text:
        raise BadInput(f"{name} is not text: it holds NUL characters")
    return text
