"""All that was seen, in a file: to be judged again, elsewhere, or with what others saw."""

import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.model.codec import encode
from holdfast.model.errors import NotOurs, StorageFailed
from holdfast.model.facts import Fact


def refuse_to_overwrite(name: str | None) -> None:
    """Said before the looks are taken, not after."""
    if name is not None and os.path.lexists(name):
        raise NotOurs(f"{name} is there already", do="name a file that is not there")


def write_record(name: str, facts: Sequence[Fact]) -> None:
    """All facts, a line each, readable by nobody else. Never over another file."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise NotOurs(f"{name} is there already", do="name a file that is not there") from error
    except OSError as error:
        raise StorageFailed(f"{name} cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(fd, "wb") as file:
            for fact in facts:
                file.write(encode(fact) + b"\n")
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise StorageFailed(f"{name} cannot be written: {error.strerror}") from error
