"""One look at an address, with what must be true of every look."""

import time
from collections.abc import Callable

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import PathProbed
from holdfast.probes.paths import Place, probe_paths

WORKER = TaskId("worker", 1)
LOOK_S_MAX = 5.0


@pytest.fixture
def look() -> Callable[..., PathProbed]:
    def one(address: str, *, answer_s: float = 0.6) -> PathProbed:
        began_s = time.monotonic()
        (fact,) = probe_paths(
            [Place(address, WORKER)],
            at_s=lambda: 7.0,
            host="host-a",
            connect_s=1.0,
            answer_s=answer_s,
        )
        assert time.monotonic() - began_s < LOOK_S_MAX + 2 * answer_s
        assert (fact.at_s, fact.host, fact.target) == (7.0, "host-a", WORKER)
        assert len(fact.says) <= 300
        assert fact.says.isprintable()
        return fact

    return one
