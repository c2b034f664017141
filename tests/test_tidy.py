"""The shape of the code itself: what a reviewer should never have to say twice."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path for room in ("src", "tests", "bench", "tools") for path in (ROOT / room).rglob("*.py")
)
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
# From the glossary in docs/architecture.md: words that say nothing, and words that say
# something else here.
VAGUE = {
    *("manager", "handler", "helper", "helpers", "util", "utils", "common", "base", "misc"),
    *("data", "info", "engine", "service"),
}
TAKEN = {"node": "task or host", "rank": "task", "replica": "task", "heartbeat": "fact"}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_one_noun_or_verb(path: Path) -> None:
    source = path.read_text()
    tree = ast.parse(source)
    doc = ast.get_docstring(tree)
    assert doc, "say in one line what this file is for"
    assert doc.partition("\n")[0].rstrip().endswith((".", "?", ":")), "one whole sentence"
    assert source.count("\n") <= FILE_LINES_MAX, "split it by noun"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} does not fit on a screen"


@pytest.mark.parametrize("path", [p for p in MODULES if "src" in p.parts], ids=name_of)
def test_names_come_from_the_glossary(path: Path) -> None:
    assert path.stem not in VAGUE, "name it after what it holds"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = {word.lower() for word in WORDS.findall(node.name)}
            assert not words & VAGUE, f"{node.name}: a word that says nothing"
            for word in words & TAKEN.keys():
                pytest.fail(f"{node.name}: say {TAKEN[word]}, not {word}")


def test_nothing_is_left_to_do() -> None:
    """Unfinished work has an issue, not a mark in the code."""
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    here = Path(__file__)
    assert [name_of(p) for p in MODULES if p != here and mark.search(p.read_text())] == []


def test_no_dangerous_calls() -> None:
    """Lines, names and files come from strangers."""
    banned = {"pickle", "marshal", "shelve", "yaml"}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            assert not banned & {name.partition(".")[0] for name in names}, name_of(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, name_of(path)


def test_patterns_for_log_lines_are_not_backtracking() -> None:
    """`re` on a stranger's line can take for ever: RE2 it is."""
    for path in MODULES:
        if "src" not in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert "re" not in {alias.name for alias in node.names}, name_of(path)
