"""Facts to and from one JSON line: the journal, the wire and the fixtures share it."""

from dataclasses import fields
from typing import Any, get_type_hints

import msgspec

from holdfast.model import (
    activity_facts,
    facts,
    finding_facts,
    log_facts,
    program_facts,
    recovery_facts,
    told_facts,
    watch_facts,
)
from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadInput
from holdfast.model.facts import SCHEMA_VERSION, Fact, UnknownFact

_MODULES = (
    *(activity_facts, facts, finding_facts, log_facts, program_facts),
    *(recovery_facts, told_facts, watch_facts),
)
_KINDS: dict[str, type[Fact]] = {
    kind.__name__: kind
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Fact) and kind not in {Fact, UnknownFact}
}
_NOT_WRITTEN = frozenset({"extra", "kind"})  # the first is spread out, the second is the name


def encode(fact: Fact) -> bytes:
    """One line without its line end. What equals its default is left out."""
    kind = fact.kind if isinstance(fact, UnknownFact) else type(fact).__name__
    record: dict[str, Any] = {"fact": kind, "v": SCHEMA_VERSION}
    for field in fields(fact):
        value = getattr(fact, field.name)
        if field.name in _NOT_WRITTEN or value == field.default:
            continue
        record[field.name] = str(value) if isinstance(value, TaskId) else value
    return msgspec.json.encode({**record, **fact.extra})


def decode(line: bytes | str) -> Fact:
    """The fact that `encode` wrote, by this version of Holdfast or by any other."""
    try:
        record = msgspec.json.decode(line, type=dict[str, Any])
        return _to_fact(record)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"not a fact: {error}", do="the line was cut, or is not ours") from error


def _to_fact(record: dict[str, Any]) -> Fact:
    name = msgspec.convert(record.pop("fact"), str)
    version = record.pop("v", SCHEMA_VERSION)
    kind = _KINDS.get(name, UnknownFact)
    known = _HINTS[kind]
    extra = {key: value for key, value in record.items() if key not in known}
    if version != SCHEMA_VERSION:
        extra["v"] = version
    values: dict[str, Any] = {
        key: _read(value, known[key]) for key, value in record.items() if key in known
    }
    if kind is UnknownFact:
        values["kind"] = name
    return kind(**values, extra=extra)


_TASK = TaskId | None


def _read(value: Any, hint: Any) -> Any:
    if hint is TaskId or (hint is _TASK and value is not None):
        return TaskId.parse(msgspec.convert(value, str))
    return None if hint is _TASK else msgspec.convert(value, hint)


def _hints_of(kind: type[Fact]) -> dict[str, Any]:
    """The fields that a line may hold: a newer Holdfast may mean something by our own two."""
    return {
        key: _TASK if hint == _TASK else hint
        for key, hint in get_type_hints(kind).items()
        if key not in _NOT_WRITTEN
    }


_HINTS = {kind: _hints_of(kind) for kind in (*_KINDS.values(), UnknownFact)}
