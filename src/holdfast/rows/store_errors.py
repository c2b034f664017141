"""What a store's package raised, in our words: what happened, where, and what to do."""

from holdfast.rows.errors import RowsError, Unwritable

SAID_CHARS_MAX = 300
# Hadoop's own words, which its clients raise as errors of many classes, most with a Java stack.
_FORBIDDEN = "AccessControlException"
_SAFE_MODE = "Name node is in safe mode"
_STACK = ("\n\tat ", "\\n\\tat ")


def store_error(act: str, place: str, error: Exception, *, protocol: str) -> RowsError:
    """`act` is what could not be done, such as "write"; `place` has no password in it."""
    said = short(error)
    if isinstance(error, PermissionError) or _FORBIDDEN in said:
        return Unwritable(
            f"cannot {act} {place}: forbidden ({said})",
            do="look at the credentials and at the rights on the bucket or folder",
        )
    if isinstance(error, FileNotFoundError):
        return Unwritable(
            f"cannot {act} {place}: there is no such bucket or folder ({said})",
            do="create it, or mend the name",
        )
    if isinstance(error, ImportError):
        return RowsError(
            f"cannot {act} {place}: {said}",
            do=f"install the package that fsspec names for {protocol}://",
        )
    if _SAFE_MODE in said:
        return Unwritable(
            f"cannot {act} {place}: the name node is in safe mode ({said})",
            do="wait until it leaves it (hdfs dfsadmin -safemode wait), or see what keeps it there",
        )
    return Unwritable(
        f"cannot {act} {place}: {type(error).__name__}: {said}",
        do="look at the address (endpoint_url), the network and the credentials",
    )


def short(error: BaseException) -> str:
    """In one line, without the stack of a Java server."""
    text = str(error)
    for mark in _STACK:
        text = text.partition(mark)[0]
    return " ".join(text.split())[:SAID_CHARS_MAX] or type(error).__name__
