"""Which HDF5 file an exception was raised over: HDF5's own messages seldom say it."""

from __future__ import annotations

import ast
import linecache
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

LINES_MAX = 20_000
_OPENS = "h5py/_hl/files.py"


def hdf5_file(trace: TracebackType | None) -> tuple[str, str]:
    """What h5py was to open, or had opened in a `with` around the call that failed, and how."""
    nearest = ("", "")
    while trace is not None:
        frame, file = trace.tb_frame, trace.tb_frame.f_code.co_filename
        if frame.f_code.co_name == "__init__" and file.endswith(_OPENS):
            return _told(frame.f_locals.get("name"), frame.f_locals.get("mode")) or nearest
        if trace.tb_next is not None and "h5py" in trace.tb_next.tb_frame.f_code.co_filename:
            nearest = _opened_around(frame, trace.tb_lineno) or nearest
        trace = trace.tb_next
    return nearest


def _told(name: Any, mode: Any) -> tuple[str, str] | None:
    if isinstance(name, (str, bytes)) and isinstance(mode, str):
        return os.path.abspath(os.fsdecode(name)), mode  # noqa: PTH100 - no pathlib here
    return None


def _opened_around(frame: FrameType, line: int) -> tuple[str, str] | None:
    """By the program's own text: the file is closed by now, and knows its name no more."""
    lines = linecache.getlines(frame.f_code.co_filename)
    if "h5py" in frame.f_code.co_filename or len(lines) > LINES_MAX:
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and node.lineno <= line <= _last_line(node):
            for call in _calls(node, frame):
                given = {key.arg: key.value for key in call.keywords}
                args = dict(zip(("name", "mode"), call.args))  # noqa: B905 - Python 3.7 has no strict
                mode = args.get("mode", given.get("mode"))
                name = _value(args.get("name", given.get("name")), frame)
                found = _told(name, "r" if mode is None else _value(mode, frame)) or found
    return found


def _last_line(node: ast.AST) -> int:
    return max(getattr(one, "lineno", 0) for one in ast.walk(node))


def _calls(node: ast.With, frame: FrameType) -> Iterator[ast.Call]:
    """Those of h5py.File, by whatever name."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call):
            kind = _value(call.func, frame)
            module = getattr(kind, "__module__", "") or ""
            if getattr(kind, "__name__", "") == "File" and module.startswith("h5py"):
                yield call


def _value(node: ast.AST | None, frame: FrameType) -> Any:
    """What stood there, where that is a literal, a name, or a name in a module."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = _value(node.value, frame)
        return getattr(owner, node.attr, None) if type(owner).__name__ == "module" else None
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except (ValueError, TypeError):
        return None
