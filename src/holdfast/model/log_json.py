"""Lines that are JSON objects: what was said, when, how bad, and by whom."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.model.log_names import task_in_name
from holdfast.model.log_times import CLOCK, DATE, ZONE, seconds_in
from holdfast.model.pattern import Pattern
from holdfast.model.spec_json import Number, read_json

TEXT_LENGTH_MAX = 16_384
_DEPTH_MAX = 4
_TEXT = ("message", "msg", "log", "text", "textPayload", "event")
_LEVEL = ("severity", "level", "levelname", "lvl", "log_level")
_TIME = ("timestamp", "time", "ts", "@timestamp", "asctime", "datetime", "created")
_STACK = ("exc_info", "exc_text", "exception", "stack_trace", "stacktrace", "traceback", "stack")
_HOST = ("hostname", "host", "nodename", "node_name")
_NAME = ("pod_name", "pod", "container_name", "task_name")
_WHEN = Pattern(rf"^{DATE}[T ]{CLOCK}{ZONE}?$")
_UNIX = Pattern(r"^(?P<unix>1\d{9})(?:\d{3}|\.\d{1,9})?$")
_MILLIS_LENGTH = 13


@dataclass(frozen=True, slots=True)
class Record:
    """What one JSON object holds, if it is a log record at all."""

    text: str
    level: str = ""
    at_unix_s: float | None = None
    host: str = ""
    name: str = ""  # of the pod or the rank
    stream: str = ""


def record_in(line: str) -> Record | None:
    """The record that a line is, or None. Never raises."""
    bare = line.strip()
    if not (bare.startswith("{") and bare.endswith("}")) or len(bare) > TEXT_LENGTH_MAX:
        return None
    found = read_json(bare)
    if not isinstance(found, dict):
        return None
    fields = _Fields(dict(_leaves(found, _DEPTH_MAX)))
    text = fields.first(_TEXT)
    if not text:
        return None
    stack = fields.first(_STACK)
    raw = "textPayload" in found  # its severity is that of the stream, not of what was said
    rank = fields.first(("rank", "global_rank"))
    return Record(
        text=(f"{text.rstrip()}\n{stack}" if stack and stack not in text else text).rstrip("\n"),
        level="" if raw else fields.first(_LEVEL).upper(),
        at_unix_s=_when(fields.first(_TIME)),
        host=fields.first(_HOST),
        name=f"rank{rank}" if isinstance(rank, Number) else _name(fields.first(_NAME)),
        stream=fields.first(("stream",)),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    values: Mapping[str, str]

    def first(self, names: tuple[str, ...]) -> str:
        """The first of these fields that has a value."""
        return next((self.values[name] for name in names if self.values.get(name)), "")


def _leaves(found: Mapping[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    """Every text in the object, the inner ones first, so that the outer ones count."""
    for value in found.values():
        if isinstance(value, dict) and depth:
            yield from _leaves(value, depth - 1)
    for name, value in found.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, float):
            yield name, Number(f"{value:.6f}")


def _when(text: str) -> float | None:
    if found := _WHEN.search(text.strip()):
        return seconds_in(found.groupdict())
    if _UNIX.search(text):
        return float(text) / (1000.0 if len(text) == _MILLIS_LENGTH and "." not in text else 1.0)
    return None


def _name(name: str) -> str:
    return name if task_in_name(name) else ""
