"""Stands around TensorFlow calls: tries again what may pass, and writes down what does not."""

from __future__ import annotations

import functools
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import tensorflow as tf

from . import place, records
from .telling import teller

if TYPE_CHECKING:
    from types import TracebackType

Function = TypeVar("Function", bound="Callable[..., Any]")
RECORDS_MAX = 200  # a process; beyond that they are only told
NAMED_MAX = 16
FIRST_WAIT_S, WAIT_S_MAX = 0.5, 30.0
# After these the runtime of this process is of no more use: only a new start helps.
BEYOND_HELP = (
    "collective",
    "coordination service",
    "RingReduce",
    "RingGather",
    "have crashed",
    "heartbeat",
    "incarnation",
    "Session has been closed",
    "parameter server",
    "/job:ps",
)

_written = 0


class Guard:
    """Made by `guard`. A decorator, a loop of tries, or a block that is only watched."""

    def __init__(self, *, retries_max: int, budget_s: float, repeatable: bool) -> None:
        self._retries_max = retries_max
        self._budget_s = budget_s
        self._repeatable = repeatable
        self._chance = random.Random()

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            for attempt in self:
                with attempt:
                    return function(*args, **kwargs)
            raise AssertionError("a last try returns or raises")

        return guarded  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Try]:
        """`for attempt in guard(): with attempt: …`: until one of them passes."""
        began_s = time.monotonic()
        number = 0
        while True:
            number += 1
            attempt = Try(self, number, began_s)
            yield attempt
            if attempt.wait_s is None:
                return
            time.sleep(attempt.wait_s)

    def __enter__(self) -> Guard:  # noqa: PYI034 - typing.Self is too new
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A block cannot be run again from here: what it raises is written down and goes on."""
        if isinstance(error, tf.errors.OpError):
            _note(error, tries=1, again=False, over_s=0.0)

    def wait_before(self, number: int, began_s: float, error: tf.errors.OpError) -> float | None:
        """How long to wait before the next try; None: there is none."""
        if number > self._retries_max or not may_pass(error, repeatable=self._repeatable):
            return None
        wait_s: float = min(WAIT_S_MAX, FIRST_WAIT_S * 2 ** (number - 1))
        wait_s *= self._chance.uniform(0.5, 1.0)
        spent_s = time.monotonic() - began_s
        return wait_s if spent_s + wait_s <= self._budget_s else None


class Try:
    """One of the tries of a guarded block; `wait_s` is set where another one follows."""

    def __init__(self, guard: Guard, number: int, began_s: float) -> None:
        self.number = number
        self.wait_s: float | None = None
        self._guard = guard
        self._began_s = began_s

    def __enter__(self) -> Try:  # noqa: PYI034
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, tf.errors.OpError):
            return False
        self.wait_s = self._guard.wait_before(self.number, self._began_s, error)
        again = self.wait_s is not None
        _note(error, tries=self.number, again=again, over_s=time.monotonic() - self._began_s)
        return again


def guard(*, retries_max: int = 5, budget_s: float = 120.0, repeatable: bool = False) -> Guard:
    """Tries again what TensorFlow calls unavailable or aborted; keeps the rest as it is.

    `repeatable`: what it stands around may run twice, so that a deadline is tried again, too;
    after one nobody knows whether the work was done.
    """
    return Guard(retries_max=retries_max, budget_s=budget_s, repeatable=repeatable)


def may_pass(error: tf.errors.OpError, *, repeatable: bool) -> bool:
    """Whether the same call may succeed a moment later, in this very process."""
    kinds = [tf.errors.UnavailableError, tf.errors.AbortedError]
    if repeatable:
        kinds.append(tf.errors.DeadlineExceededError)
    text = records.text_of(error)
    return isinstance(error, tuple(kinds)) and not any(word in text for word in BEYOND_HELP)


def tasks_named(text: str) -> list[str]:
    """The tasks that a message speaks of, as /job:worker/replica:0/task:3, in their order."""
    found: dict[str, None] = {}
    for part in text.split("/job:")[1:]:
        role, _, rest = part.partition("/")
        index = rest.partition("task:")[2] if rest[:40].find("task:") >= 0 else ""
        digits = index[: len(index) - len(index.lstrip("0123456789"))]
        if digits and role != "localhost" and place.is_task(role + ":" + digits):
            found[role + ":" + digits] = None
    return list(found)[:NAMED_MAX]


def _note(error: tf.errors.OpError, *, tries: int, again: bool, over_s: float) -> None:
    """For the post-mortem; nothing that goes wrong here counts."""
    try:
        path = _write(error, tries=tries, again=again)
        if not again:
            _add_note(error, _sentence(error, tries, over_s, path))
    except Exception:  # noqa: BLE001 - the error itself is what matters
        pass


def _write(error: tf.errors.OpError, *, tries: int, again: bool) -> str:
    global _written  # noqa: PLW0603 - a bound for the whole process
    record = records.stamped(
        code=_code(error),
        op=_op(error),
        node=_place_in_graph(error),  # TensorFlow's own word for it
        named=tasks_named(records.text_of(error)),
        tries=tries,
        again=again,
        step=teller().last_step,
        **records.error_record(error),
    )
    told = {key: record[key] for key in ("code", "op", "named", "tries", "again")}
    at = record["frames"][-1].partition(": ")[0][:1_000] if record["frames"] else ""
    message = {"is": "error", "exception": record["exception"], "at": at, **told}
    teller().say({**message, "message": record["message"][:1_500]})
    _written += 1
    if not place.folder() or _written > RECORDS_MAX:
        return ""
    name = f"{place.file_stem(place.task())}.{os.getpid()}.errors.jsonl"
    return records.add_line(place.folder(), name, record)


def _sentence(error: tf.errors.OpError, tries: int, over_s: float, path: str) -> str:
    parts = ["holdfast: " + (_code(error) or "an error")]
    if _op(error):
        parts.append(f"in op {_op(error)}")
    named = tasks_named(records.text_of(error))
    if named:
        parts.append("speaks of {}".format(", ".join(named)))
    if tries > 1:
        parts.append(f"tried {tries} times over {over_s:.1f} s")
    elif not may_pass(error, repeatable=True):
        parts.append("not tried again: it does not pass by itself")
    finding = records.newest_finding()
    if finding:
        parts.append("found so far: " + finding)
    if path:
        parts.append("written down in " + path)
    return "; ".join(parts)


def _add_note(error: BaseException, note: str) -> None:
    add = getattr(error, "add_note", None)  # since Python 3.11
    if add is not None:
        add(note)
    else:
        records.complain(note)


def _code(error: tf.errors.OpError) -> str:
    names = {value: name for name, value in vars(tf.errors).items() if name.isupper()}
    return str(names.get(error.error_code, ""))[:64]


def _op(error: tf.errors.OpError) -> str:
    known = getattr(error.op, "type", "") or getattr(error.node_def, "op", "")
    return str(known or _between(records.text_of(error), "[Op:", "]"))[:200]


def _place_in_graph(error: tf.errors.OpError) -> str:
    name = getattr(error.op, "name", "") or getattr(error.node_def, "name", "")
    text = records.text_of(error)  # an eager error has it there only
    inner = _between(text, "{{node ", "}}") or _between(text, "{{function_node ", "}}")
    return str(name or inner)[:200]


def _between(text: str, before: str, after: str) -> str:
    _, found, rest = text.partition(before)
    return rest.partition(after)[0] if found else ""
