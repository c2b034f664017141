"""Rows that many workers may write and none is lost: logs, HDF5 segments, merge, rescue."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.rows import guard
    from holdfast.rows.center import central
    from holdfast.rows.errors import Damaged, Held, Missing, Refused, RowsError, Unwritable
    from holdfast.rows.exporting import export
    from holdfast.rows.fetching import fetch
    from holdfast.rows.indexing import index, open_index
    from holdfast.rows.lock_test import locks_work
    from holdfast.rows.merging import merge
    from holdfast.rows.opening import open_writer as open  # noqa: A004 - as rows.open is read
    from holdfast.rows.readers import arrays, pandas, polars, tf_dataset
    from holdfast.rows.reading import parts, read_part, sources
    from holdfast.rows.rescuing import rescue
    from holdfast.rows.uploading import upload_spool
    from holdfast.rows.writer import Writer

# A name must not be that of a module here: importing the module would hide it.
_HOMES = {
    **dict.fromkeys(("Damaged", "Held", "Missing", "Refused", "RowsError", "Unwritable"), "errors"),
    **dict.fromkeys(("parts", "read_part", "sources"), "reading"),
    "Writer": "writer",
    "open": "opening",
    "merge": "merging",
    **dict.fromkeys(("index", "open_index"), "indexing"),
    "central": "center",
    "export": "exporting",
    "fetch": "fetching",
    **dict.fromkeys(("arrays", "pandas", "polars", "tf_dataset"), "readers"),
    "upload_spool": "uploading",
    "rescue": "rescuing",
    "locks_work": "lock_test",
}
_MODULES = frozenset({"guard"})
_OTHER_NAMES = {"open": "open_writer"}

__all__ = [
    "Damaged", "Held", "Missing", "Refused", "RowsError", "Unwritable", "Writer", "arrays",
    "central", "export", "fetch", "guard", "index", "locks_work", "merge", "open", "open_index",
    "pandas", "parts", "polars", "read_part", "rescue", "sources", "tf_dataset", "upload_spool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imports what is asked for: `import holdfast.rows` alone costs nothing."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{home}")
    return getattr(module, _OTHER_NAMES.get(name, name))
