"""How long a task was able to run, and whoever looks at it to look."""

from typing import Any

import pytest
from tests.pure.stillness import W0, W1, activity, process

from holdfast.model.core_time import able_to_run_s, observer_late_s, starved_share
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import ObserverLate, TaskSampled


def sampled(at_s: float, over_s: float = 10.0, **shares: float) -> TaskSampled:
    given: dict[str, Any] = {"pid": 7, "state": "R", "cpu_share": 0.1, **shares}
    return TaskSampled(at_s=at_s, host="host-a", task=W0, over_s=over_s, **given)


def late(at_s: float, late_s: float, host: str = "host-a") -> ObserverLate:
    return ObserverLate(at_s=at_s, host=host, late_s=late_s)


@pytest.mark.parametrize(
    ("facts", "share"),
    [
        ([], 0.0),
        ([sampled(100.0, starved_share=0.5)], 0.5),
        ([sampled(100.0, starved_share=0.5, threads_starved_share=0.7)], 0.7),
        ([sampled(100.0, throttled_share=0.9)], 0.9),
        ([sampled(100.0, starved_share=1.4)], 1.0),  # its counters came later than its clock
        ([activity(process("computes", starved_share=0.8))], 0.8),
        ([activity()], 0.0),
        # One bad moment does not excuse all that lasts.
        ([sampled(60.0, starved_share=1.0), sampled(100.0, over_s=40.0)], 0.2),
        # What was before, and what comes after, does not count.
        ([sampled(50.0, starved_share=1.0), sampled(111.0, starved_share=1.0)], 0.0),
        ([sampled(55.0, starved_share=1.0), sampled(105.0, starved_share=0.5)], 0.75),
    ],
)
def test_the_share_of_the_time_in_which_it_got_no_core(facts: list[Fact], share: float) -> None:
    evidence = Evidence(facts)
    assert starved_share(evidence, W0, since_s=50.0, until_s=100.0) == pytest.approx(share)
    able_s = able_to_run_s(evidence, W0, since_s=50.0, until_s=100.0)
    assert able_s == pytest.approx(50.0 * (1 - share))
    assert able_to_run_s(evidence, W1, since_s=50.0, until_s=100.0) == 50.0
    assert able_to_run_s(evidence, None, since_s=50.0, until_s=100.0) == 50.0


def test_of_a_short_time_the_measure_before_it_speaks() -> None:
    evidence = Evidence([sampled(95.0, starved_share=0.8)])
    assert able_to_run_s(evidence, W0, since_s=98.0, until_s=100.0) == pytest.approx(0.4)


def test_time_in_which_nobody_looked_is_ours() -> None:
    evidence = Evidence([late(60.0, 4.0), late(52.0, 8.0), late(70.0, 9.0, "host-b")])
    assert observer_late_s(evidence, "host-a", since_s=50.0, until_s=100.0) == 6.0
    assert observer_late_s(evidence, "host-a", since_s=70.0, until_s=100.0) == 0.0
