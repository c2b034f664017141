"""Shares of time, as the kernel's counts give them."""

import os
from itertools import count

import pytest

from holdfast.agent import watch_usage
from holdfast.agent.watch_usage import UsageLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import TaskSampled
from holdfast.probes.usage import ThreadUse

TASK = TaskId("worker", 0)


def test_nobody_wants_a_core_for_longer_than_the_time_that_went_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel counts a wait when it is over: some of it may lie before the first look."""
    waits = count()
    counted = lambda _: ThreadUse(on_core_s=0.1, wanted_s=20.0 * next(waits))  # noqa: E731
    monkeypatch.setattr(watch_usage, "thread_use", counted)
    pid, look = os.getpid(), UsageLook("h")
    watched = Watched(task=TASK, pid=pid, address="", streams={}, main=pid)
    told = [
        fact
        for at_s in range(0, 60, 10)
        for fact in look.look({TASK: watched}, float(at_s), crowded=False)
    ]
    shares = {fact.starved_share for fact in told if isinstance(fact, TaskSampled)}
    assert shares == {1.0}
