"""Cluster definitions, TF_CONFIG in files and processes: what one says, or why it says nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId, is_plain_name
from holdfast.model.facts import SpecRead, SpecUnreadable
from holdfast.model.redact import redact
from holdfast.model.spec_json import (
    BLANKS,
    Fault,
    Members,
    Number,
    has_too_many_parts,
    is_python,
    line_and_column,
    place_of,
    place_of_name,
    read_json,
    without_outer_quotes,
)

TEXT_LENGTH_MAX = 4 << 20
TASKS_MAX = 20_000
NAME_LENGTH_MAX = 300  # of roles, indices, addresses and sources that are kept
EXCERPT_LENGTH_MAX = 60
KNOWN_ROLES = ("chief", "master", "worker", "ps", "evaluator")
_NAMES_COMPARED_MAX = 50
_ALIKE = 0.7
_REMEMBERED_MAX = 65_536
_ROLES = frozenset(KNOWN_ROLES)


class Mistake(StrEnum):
    """Why nobody can use a definition."""

    UNSET = "unset"
    EMPTY = "empty"
    TOO_LARGE = "too-large"
    TOO_MANY_TASKS = "too-many-tasks"
    TOO_DEEP = "too-deep"
    PYTHON_DICT = "python-dict"
    OUTER_QUOTES = "outer-quotes"  # around the whole: a shell's quotes became part of it
    LOST_QUOTES = "lost-quotes"  # no quote is left: a shell took them all
    TRAILING_COMMA = "trailing-comma"
    CUT_OFF = "cut-off"
    EXTRA_TEXT = "extra-text"
    NOT_JSON = "not-json"
    DUPLICATE_KEY = "duplicate-key"
    NOT_AN_OBJECT = "not-an-object"
    CLUSTER_MISPLACED = "cluster-misplaced"  # there is one, but not under "cluster"
    CLUSTER_NOT_AN_OBJECT = "cluster-not-an-object"
    MEMBERS_NOT_ADDRESSES = "members-not-addresses"
    TASK_NOT_AN_OBJECT = "task-not-an-object"
    TYPE_NOT_TEXT = "type-not-text"
    INDEX_NOT_A_NUMBER = "index-not-a-number"


def read_spec(
    text: str | None,
    *,
    source: str,
    at_s: float = 0.0,
    host: str = "",
    task: TaskId | None = None,
    pid: int = 0,
    given: bool = False,
) -> SpecRead | SpecUnreadable:
    """What a definition says. Never raises, whatever the text; None is a variable not set."""
    said = _said(text)
    if isinstance(said, _Wrong):
        line, column = line_and_column(text, said.at) if text and said.at >= 0 else (0, 0)
        return SpecUnreadable(
            at_s=at_s,
            host=host,
            task=task,
            source=_kept(source),
            mistake=said.mistake,
            line=line,
            column=column,
            excerpt=_excerpt(text or "", said.at),
            pid=pid,
        )
    return SpecRead(
        at_s=at_s,
        host=host,
        task=task or task_named(said.role, said.index),
        source=_kept(source),
        cluster=said.cluster,
        role=said.role,
        index=said.index,
        index_is_text=said.index_is_text,
        pid=pid,
        given=given,
    )


def members(spec: SpecRead) -> dict[TaskId, str]:
    """The tasks with well-formed names, and their addresses as written."""
    return {
        task: address
        for role, addresses in spec.cluster.items()
        for index, address in addresses.items()
        if (task := task_named(role, index)) is not None
    }


def claimed(spec: SpecRead) -> TaskId | None:
    """Which task the definition says it is for, if that has a well-formed name."""
    return task_named(spec.role, spec.index)


@lru_cache(maxsize=_REMEMBERED_MAX)
def task_named(role: str, index: str) -> TaskId | None:
    """The task of this role and index, if both are well-formed."""
    bare = index.strip()
    plain = bare.isascii() and bare.isdigit() and len(bare) <= INDEX_DIGITS_MAX
    return TaskId(role, int(bare)) if plain and is_plain_name(role) else None


@dataclass(frozen=True, slots=True)
class _Said:
    cluster: Mapping[str, Mapping[str, str]]
    role: str = ""
    index: str = ""
    index_is_text: bool = False


@dataclass(frozen=True, slots=True)
class _Wrong:
    mistake: Mistake
    at: int = -1  # -1: nowhere in particular


class _WrongError(Exception):
    """Carries a mistake, and the path to it, out of the parts that look for one."""

    def __init__(self, mistake: Mistake, *path: str | int) -> None:
        super().__init__(mistake)
        self.mistake = mistake
        self.path = path


def _said(text: str | None) -> _Said | _Wrong:
    if text is None:
        return _Wrong(Mistake.UNSET)
    if len(text) > TEXT_LENGTH_MAX or has_too_many_parts(text):
        return _Wrong(Mistake.TOO_LARGE, 0)
    if not text.strip():
        return _Wrong(Mistake.EMPTY)
    found = read_json(text)
    if isinstance(found, Fault):
        return _syntax(text, found)
    try:
        return _parts(found)
    except _WrongError as wrong:
        if wrong.mistake is Mistake.NOT_AN_OBJECT and _is_quoted(text):
            return _Wrong(Mistake.OUTER_QUOTES, place_of(text, ()))
        place = place_of_name if wrong.mistake in _ABOUT_NAMES else place_of
        return _Wrong(wrong.mistake, place(text, wrong.path))


_ABOUT_NAMES = frozenset({Mistake.DUPLICATE_KEY, Mistake.CLUSTER_MISPLACED})
_FAULTS = {
    "deep": Mistake.TOO_DEEP,
    "comma": Mistake.TRAILING_COMMA,
    "cut": Mistake.CUT_OFF,
    "extra": Mistake.EXTRA_TEXT,
    "syntax": Mistake.NOT_JSON,
}


def _syntax(text: str, fault: Fault) -> _Wrong:
    """The usual reasons first: what a shell or Python made of it."""
    start = len(text) - len(text.lstrip(BLANKS))
    if _is_quoted(text):
        return _Wrong(Mistake.OUTER_QUOTES, start)
    if fault.kind == "syntax" and is_python(text):
        return _Wrong(Mistake.PYTHON_DICT, fault.at)
    if fault.kind == "syntax" and text[start] == "{" and '"' not in text and "'" not in text:
        return _Wrong(Mistake.LOST_QUOTES, fault.at)
    if fault.kind == "extra" and text[start] != "{":
        return _Wrong(Mistake.NOT_JSON, start)
    return _Wrong(_FAULTS[fault.kind], fault.at)


def _is_quoted(text: str) -> bool:
    return isinstance(read_json(without_outer_quotes(text)), Members)


def _parts(found: Any) -> _Said:
    if not isinstance(found, Members):
        raise _WrongError(Mistake.NOT_AN_OBJECT)
    _refuse_twice(found)
    cluster = _cluster(found)
    task = found.get("task", Members())
    if not isinstance(task, Members):
        raise _WrongError(Mistake.TASK_NOT_AN_OBJECT, "task")
    _refuse_twice(task, "task")
    role, index = task.get("type", ""), task.get("index", "")
    if not isinstance(role, str) or isinstance(role, Number):
        raise _WrongError(Mistake.TYPE_NOT_TEXT, "task", "type")
    if not isinstance(index, str) or ("index" in task and not _is_whole(index)):
        raise _WrongError(Mistake.INDEX_NOT_A_NUMBER, "task", "index")
    return _Said(
        cluster=cluster,
        role=_kept(role),
        index=_kept(index),
        index_is_text="index" in task and not isinstance(index, Number),
    )


def _cluster(found: Members) -> dict[str, dict[str, str]]:
    if "cluster" not in found:
        _refuse_misplaced(found)
    roles = found.get("cluster", Members())
    if not isinstance(roles, Members):
        raise _WrongError(Mistake.CLUSTER_NOT_AN_OBJECT, "cluster")
    _refuse_twice(roles, "cluster")
    tasks = 0
    cluster: dict[str, dict[str, str]] = {}
    for role, listed in roles.items():
        if not isinstance(listed, Members | list):
            raise _WrongError(Mistake.MEMBERS_NOT_ADDRESSES, "cluster", role)
        tasks += len(listed) or 1
        if tasks > TASKS_MAX:
            raise _WrongError(Mistake.TOO_MANY_TASKS, "cluster", role)
        cluster[_kept(role)] = _addresses(role, listed)
    return cluster


def _addresses(role: str, listed: Members | list[Any]) -> dict[str, str]:
    if isinstance(listed, Members):
        _refuse_twice(listed, "cluster", role)
    pairs = listed.items() if isinstance(listed, Members) else enumerate(listed)
    for index, address in pairs:
        if not isinstance(address, str) or isinstance(address, Number):
            raise _WrongError(Mistake.MEMBERS_NOT_ADDRESSES, "cluster", role, index)
    pairs = listed.items() if isinstance(listed, Members) else enumerate(listed)
    return {_kept(str(index)): _kept(address) for index, address in pairs}


def _refuse_twice(found: Members, *path: str) -> None:
    if found.twice is not None:
        raise _WrongError(Mistake.DUPLICATE_KEY, *path, found.twice)


def _refuse_misplaced(found: Members) -> None:
    """Roles at the top, or under another name: TensorFlow would see no cluster at all."""
    names = [
        name
        for name in list(found)[:_NAMES_COMPARED_MAX]
        if len(name) < EXCERPT_LENGTH_MAX and isinstance(found[name], Members | list)
    ]
    from difflib import get_close_matches  # noqa: PLC0415 - memory that a run in peace need not hold

    alike = get_close_matches("cluster", [name.lower() for name in names], 1, _ALIKE)
    for name in names:
        if name in _ROLES or name.lower() in alike:
            raise _WrongError(Mistake.CLUSTER_MISPLACED, name)


def _is_whole(index: str) -> bool:
    digits = index.strip().removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _kept(text: str) -> str:
    """Bounded, and fit for the journal: half of a surrogate pair cannot be written."""
    cut = text[:NAME_LENGTH_MAX]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode()


def _excerpt(text: str, at: int) -> str:
    """Some characters around the place, without secrets."""
    if at < 0:
        return ""
    start = max(0, at - EXCERPT_LENGTH_MAX // 2)
    return redact(_kept(text[start : start + EXCERPT_LENGTH_MAX]))[:EXCERPT_LENGTH_MAX]
