"""Who keeps the others waiting: values in, values out."""

from collections.abc import Mapping

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.straggling import LOOKS_MAX, Slow, Straggling, Work

ONE, TWO, THREE = (TaskId("worker", index) for index in range(3))


def work(*, wakes: int = 20, doing: float = 0.5, pace_s: float = 1.0) -> Work:
    return Work(wakes=wakes, over_s=1.0, doing=doing, pace_s=pace_s)


class Watch:
    def __init__(self) -> None:
        self.straggling = Straggling()
        self.at_s = 0.0

    def see(self, works: Mapping[TaskId, Work], *, looks: int) -> dict[TaskId, Slow]:
        """What is known after so many looks of this kind."""
        found: dict[TaskId, Slow] = {}
        for _ in range(looks):
            self.at_s += 1
            found = self.straggling.see(self.at_s, works)
        return found


def test_in_lockstep_the_slow_one_is_the_one_that_does_not_wait() -> None:
    watch = Watch()
    alike = {task: work(doing=0.8) for task in (ONE, TWO, THREE)}
    assert watch.see(alike, looks=60) == {}
    late = {ONE: work(wakes=4, doing=0.1), TWO: work(wakes=4, doing=1.0)}
    late[THREE] = work(wakes=4, doing=0.1)
    assert watch.see(late, looks=12) == {}, "not before it has lasted"
    (slow,) = watch.see(late, looks=40).items()
    assert slow[0] == TWO
    assert slow[1].factor == pytest.approx(10.0)
    assert slow[1].own_s == pytest.approx(0.25)
    assert slow[1].others_s == pytest.approx(0.025)
    assert slow[1].together
    assert watch.see(alike, looks=60) == {}


def test_tasks_that_all_wait_or_all_work_are_alike() -> None:
    for doing in (0.0, 0.3, 1.0):
        assert Watch().see({ONE: work(doing=doing), TWO: work(doing=doing)}, looks=90) == {}
    little = {ONE: work(doing=0.3), TWO: work(doing=0.05)}
    assert Watch().see(little, looks=90) == {}, "who works little keeps nobody waiting"


def test_a_little_more_work_is_no_straggling() -> None:
    chief = {ONE: work(doing=0.7), TWO: work(doing=0.45), THREE: work(doing=0.4)}
    assert Watch().see(chief, looks=90) == {}


def test_without_lockstep_the_slow_one_wakes_less_often() -> None:
    watch = Watch()
    assert watch.see({ONE: work(wakes=36), TWO: work(wakes=34)}, looks=40) == {}
    (slow,) = watch.see({ONE: work(wakes=36), TWO: work(wakes=12)}, looks=60).items()
    assert slow[0] == TWO
    assert not slow[1].together
    assert slow[1].factor == pytest.approx(3.0)
    assert slow[1].own_s == pytest.approx(1 / 12)
    assert slow[1].others_s == pytest.approx(1 / 36)


def test_who_was_always_different_needs_more_than_a_factor_of_two() -> None:
    """A chief wakes for its summaries, too."""
    assert Watch().see({ONE: work(wakes=36), TWO: work(wakes=12)}, looks=90) == {}
    found = Watch().see({ONE: work(wakes=36), TWO: work(wakes=4)}, looks=90)
    assert found.keys() == {TWO}


def test_when_most_are_slow_nobody_is() -> None:
    watch = Watch()
    watch.see({ONE: work(wakes=30), TWO: work(wakes=30), THREE: work(wakes=30)}, looks=40)
    fast = {ONE: work(wakes=150), TWO: work(wakes=30), THREE: work(wakes=30)}
    assert watch.see(fast, looks=60) == {}


def test_a_pause_is_not_what_the_others_wait_for_in_each_step() -> None:
    """While one evaluates the others wait; before and after it all are alike."""
    watch = Watch()
    steps = {ONE: work(doing=0.5), TWO: work(doing=0.5)}
    pause = {ONE: work(wakes=0, doing=1.0), TWO: work(wakes=0, doing=0.0)}
    for _ in range(3):
        assert watch.see(steps, looks=30) == {}
        assert watch.see(pause, looks=60) == {}
        assert not watch.straggling.knows


def test_long_steps_need_as_many_steps_or_five_minutes() -> None:
    watch = Watch()
    rest = {
        ONE: work(wakes=0, doing=0.0, pace_s=10.0),
        TWO: work(wakes=0, doing=1.0, pace_s=10.0),
    }
    step = {task: work(wakes=1, doing=1.0, pace_s=10.0) for task in (ONE, TWO)}
    for _ in range(LOOKS_MAX // 10 - 1):
        assert watch.see(rest, looks=9) == {}
        assert watch.see(step, looks=1) == {}
    for _ in range(3):
        watch.see(rest, looks=9)
        found = watch.see(step, looks=1)
    assert found.keys() == {TWO}


def test_one_alone_is_not_slow_and_newcomers_start_afresh() -> None:
    watch = Watch()
    assert not watch.straggling.knows
    assert watch.see({ONE: work()}, looks=40) == {}
    assert watch.see({ONE: work(doing=0.0), TWO: work(doing=1.0)}, looks=15) == {}


def test_who_never_wakes_is_not_compared() -> None:
    watch = Watch()
    asleep = {ONE: work(pace_s=1e6), TWO: work(wakes=0, pace_s=1e6)}
    assert watch.see(asleep, looks=LOOKS_MAX + 20) == {}


def test_after_a_pause_it_takes_as_long_to_know_that_it_is_over() -> None:
    watch = Watch()
    slow = {ONE: work(doing=0.1), TWO: work(doing=1.0)}
    assert watch.see(slow, looks=40).keys() == {TWO}
    watch.straggling.forget()
    assert watch.see(slow, looks=25) == {}
    assert not watch.straggling.is_over(TWO), "it is slow, but not for long enough"
    assert watch.straggling.is_over(ONE)
    assert not watch.straggling.is_over(THREE), "nobody knows it"
    watch.see({ONE: work(doing=0.5), TWO: work(doing=0.5)}, looks=60)
    assert watch.straggling.is_over(TWO)
