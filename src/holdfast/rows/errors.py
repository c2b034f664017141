"""What can go wrong with rows: each error says what happened and what to do next."""

from __future__ import annotations

import errno
import os

__all__ = ["Damaged", "Held", "Missing", "Refused", "RowsError", "Unwritable", "unwritable"]


class RowsError(Exception):
    """Something about rows that the caller must hear of."""

    def __init__(self, message: str, *, do: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.do = do

    def __str__(self) -> str:
        return f"{self.message}; {self.do}" if self.do else self.message


class Refused(RowsError):  # noqa: N818 - reads as what it says
    """A name, a schema or a batch that is not as it must be: nothing of it was written."""


class Held(RowsError):  # noqa: N818
    """Somebody else writes here."""

    def __init__(
        self, message: str, *, do: str = "", host: str = "", pid: int = 0, task: str = "",
        since: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message, do=do)
        self.host = host
        self.pid = pid
        self.task = task
        self.since = since


class Damaged(RowsError):  # noqa: N818
    """A file is not as it was written."""


class Missing(RowsError):  # noqa: N818
    """A package that this needs is not installed."""

    def __init__(self, extra: str, *, package: str = "") -> None:
        super().__init__(
            f"{package or extra} is not installed", do=f"pip install 'holdfast[{extra}]'"
        )
        self.extra = extra


class Unwritable(RowsError):  # noqa: N818
    """The disk is full or broken, or the folder is gone. What was acknowledged stays."""


_DO = {
    errno.ENOSPC: "free some space: the next append begins a new log",
    errno.EDQUOT: "free some of the quota: the next append begins a new log",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f), or lower log_bytes_max",
    errno.EIO: "look at the disk (dmesg), then open a new writer, elsewhere if need be",
    errno.ENOENT: "find out who removed the folder, then open a new writer",
    errno.ESTALE: "the network file system lost the folder: mount it again, open a new writer",
    errno.EROFS: "mount the file system for writing, or choose another log directory",
    errno.EACCES: "give this user the right to write there, or choose another log directory",
}


def unwritable(path: os.PathLike[str] | str, error: OSError, *, do: str = "") -> Unwritable:
    """The words for a write that the system did not do."""
    why = error.strerror or repr(error)
    return Unwritable(
        f"cannot write {os.fspath(path)}: {why}; rows acknowledged before stay",
        do=do or _DO.get(error.errno or 0, "see what the system says, then open a new writer"),
    )
