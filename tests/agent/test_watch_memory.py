"""When memory that stays nearly full is told: rooms that we make, and a clock of our own."""

from collections.abc import Iterable

import pytest

from holdfast.agent.watch_memory import MemoryLook
from holdfast.model.watch_facts import MemoryNearlyFull
from holdfast.probes.memory import MemoryRoom

GIB = 1 << 30


def told(used: Iterable[tuple[float, float]]) -> list[float]:
    """When, of a host with 10 GiB of which so many are used at so many seconds."""
    look = MemoryLook("host-a")
    found: list[float] = []
    for at_s, gib in used:
        facts = list(look.look({}, at_s, MemoryRoom(10 * GIB, int(gib * GIB), "")))
        full = [fact for fact in facts if isinstance(fact, MemoryNearlyFull)]
        assert all(fact.task is None and fact.limit_of == "" for fact in full)
        found += [fact.at_s for fact in full]
    return found


def test_memory_that_stays_nearly_full_is_told_after_a_minute_and_again() -> None:
    assert told((at_s, 9.2) for at_s in range(0, 110, 2)) == [60.0, 80.0, 100.0]


@pytest.mark.parametrize(
    "used",
    [
        pytest.param([(at_s, 8.9) for at_s in range(0, 300, 2)], id="less than nine tenths"),
        pytest.param([(at_s, 9.5 if at_s < 50 else 5.0) for at_s in range(0, 300, 2)], id="a peak"),
        pytest.param(
            [(at_s, 5.0 if at_s % 50 == 0 else 9.5) for at_s in range(0, 300, 2)], id="often"
        ),
        pytest.param([(0, 9.5), (2, 9.5), (90, 9.5), (92, 9.5)], id="nobody looked"),
    ],
)
def test_what_may_have_had_room_meanwhile_is_not_told(used: list[tuple[float, float]]) -> None:
    assert told(used) == []
