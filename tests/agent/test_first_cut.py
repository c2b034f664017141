"""A cut shows at several links, and not all are looked at at once: the first word waits a moment.

The kernel's tables are given here, so that a look can leave one namespace out.
"""

from collections.abc import Iterator

import pytest

from holdfast.agent.watch_links import LinkLook
from holdfast.model.cluster import TaskId
from holdfast.model.tcp_table import ESTABLISHED, TcpRow
from holdfast.model.watch_facts import LinkSeen

A, B = TaskId("worker", 0), TaskId("worker", 1)
ADDRESSES = {A: "10.0.0.1:2222", B: "10.0.0.2:2222"}


class Tables:
    """Two namespaces, each with its end of one connection that nobody acknowledges."""

    def __init__(self) -> None:
        self.looked: set[str] = set()

    def look(self, *_: object, **__: object) -> dict[str, list[tuple[TaskId, TcpRow]]]:
        return {space: rows for space, rows in self._all() if space in self.looked}

    def _all(self) -> Iterator[tuple[str, list[tuple[TaskId, TcpRow]]]]:
        for space, task, peer in (("a", A, B), ("b", B, A)):
            ends = (ADDRESSES[task], ADDRESSES[peer])
            yield space, [(task, TcpRow(ESTABLISHED, *ends, 100, 0, 1, 4, space))]


@pytest.fixture
def tables() -> Tables:
    return Tables()


@pytest.fixture
def look(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> LinkLook:
    made = LinkLook("host-a", ADDRESSES)
    monkeypatch.setattr(made, "_sockets", tables)
    return made


def told(look: LinkLook, tables: Tables, spaces: str, at_s: float) -> list[TaskId | None]:
    tables.looked = set(spaces)
    return [fact.task for fact in look.look({}, at_s) if isinstance(fact, LinkSeen)]


def test_both_ends_are_told_together(look: LinkLook, tables: Tables) -> None:
    assert told(look, tables, "ab", 10.0) == []
    assert told(look, tables, "a", 12.5) == [], "the other end may be cut as well"
    assert told(look, tables, "ab", 12.9) == [A, B]


def test_who_is_not_looked_at_holds_up_nobody_for_long(look: LinkLook, tables: Tables) -> None:
    assert told(look, tables, "ab", 10.0) == []
    assert told(look, tables, "a", 12.5) == []
    assert told(look, tables, "a", 12.9) == [A]
