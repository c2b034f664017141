"""The source lines that frames stand at, and the `with` statements around them."""

import ast
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.model.redact import redact

FILE_BYTES_MAX = 2 << 20
FILES_KEPT_MAX = 256
CODE_LENGTH_MAX = 160
HOLDS_MAX = 8  # of one frame
_LARGE = ("tensorflow", "keras", "numpy", "jax", "torch")
_LIBRARIES = ("/site-packages/", "/dist-packages/")
# Their locks are their own affair: what `threading` seems to hold while it waits it has released,
# and to parse all that a step of TensorFlow goes through would cost a second.
_NOT_PARSED = (
    *(f"{place}/{name}/" for place in ("site-packages", "dist-packages") for name in _LARGE),
    "lib/python",
)
_SUITES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_With = ast.With | ast.AsyncWith


@dataclass(slots=True)
class _File:
    stamp: tuple[int, int]  # when it was changed, and its size
    lines: list[str]
    withs: dict[str, list[tuple[_With, tuple[int, int]]]] | None = None  # of each function


class Sources:
    """Files that were read once, as long as they stay the same."""

    def __init__(self) -> None:
        self._files: dict[str, _File | None] = {}

    def code(self, path: str, line: int) -> str:
        """That line without its indent; empty where it cannot be read."""
        file = self._file(path)
        if file is None or not 0 < line <= len(file.lines):
            return ""
        return printable(redact(file.lines[line - 1].strip()[:CODE_LENGTH_MAX]))

    def is_absurd(self, path: str, line: int) -> bool:
        """Whether no frame can be there: a stack that was read while it changed."""
        if line <= 0:
            return True
        file = self._file(path)
        return file is not None and line > len(file.lines)

    def holds(self, path: str, function: str, line: int) -> list[str]:
        """`file:line: with lock:` of each such `with` of that function whose body the line is in.

        One that calls something, as `with open(…):` does, is no lock that it holds.
        """
        name = function.rpartition(".")[2]
        file = self._file(path)
        if file is None or (name.startswith("<") and name != "<module>"):
            return []  # of a lambda or comprehension, the frame around it tells
        if short_path(path).startswith(_NOT_PARSED):
            return []
        if file.withs is None:
            file.withs = _withs_by_function(file.lines)
        found = [
            node
            for node, (first, last) in file.withs.get(name, ())
            if first <= line <= last and node.body[0].lineno <= line and node.lineno < line
        ]
        shown = short_path(path)
        return [
            f"{shown}:{node.lineno}: {self.code(path, node.lineno)}" for node in found[:HOLDS_MAX]
        ]

    def _file(self, path: str) -> _File | None:
        if path not in self._files and len(self._files) >= FILES_KEPT_MAX:
            self._files.clear()
        try:
            known = self._files.get(path)
            stamp = _stamp(path)
            if known is None or known.stamp != stamp:
                known = _File(stamp, _read(path))
            self._files[path] = known
        except (OSError, ValueError):
            self._files[path] = None
        return self._files[path]


def printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def short_path(path: str) -> str:
    """A library's file from its `site-packages` or `lib/pythonX.Y` on; others as they are."""
    for mark in _LIBRARIES:
        _, found, rest = path.rpartition(mark)
        if found:
            return f"{mark[1:]}{rest}"
    _, found, rest = path.rpartition("/lib/python")
    version, slash, file = rest.partition("/")
    if found and slash and version.replace(".", "").isdigit():
        return f"lib/python{version}/{file}"
    return path


def _stamp(path: str) -> tuple[int, int]:
    if not path.endswith(".py"):
        raise ValueError(path)
    found = os.stat(path)  # noqa: PTH116 - once for each frame of each thread
    if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
        raise ValueError(path)
    return (found.st_mtime_ns, found.st_size)


def _read(path: str) -> list[str]:
    # A pipe or device that took the file's name just now must not make us wait.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError(path)
        return file.read(FILE_BYTES_MAX).decode("utf-8", "replace").split("\n")


def _withs_by_function(lines: list[str]) -> dict[str, list[tuple[_With, tuple[int, int]]]]:
    """Each function's `with` statements, outermost first, and where their bodies are."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[tuple[_With, tuple[int, int]]]] = {}
    ahead: list[tuple[str, Sequence[ast.AST]]] = [("<module>", tree.body)]
    while ahead:
        name, body = ahead.pop()
        for node in _own(body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                ahead.append((node.name, node.body))
            elif isinstance(node, ast.ClassDef):
                ahead.append((name, node.body))
            elif isinstance(node, _With) and not _calls(node):
                span = (node.body[0].lineno, node.body[-1].end_lineno or 0)
                found.setdefault(name, []).append((node, span))
    for withs in found.values():
        withs.sort(key=lambda one: one[0].lineno)
    return found


def _calls(node: _With) -> bool:
    return all(isinstance(item.context_expr, ast.Call) for item in node.items)


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All below a function's body that belongs to itself; functions in it, but not their bodies."""
    ahead = list(body)
    while ahead:
        node = ahead.pop()
        yield node
        if not isinstance(node, _SUITES):
            ahead += ast.iter_child_nodes(node)
