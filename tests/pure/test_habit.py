"""A task's own habit: nothing is told of what is usual for it, and soon of what is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.habit import FLOOR_S, Habit


def looked_at(step_s: float, *, for_s: float, look_s: float = 1.0) -> Habit:
    """As a watcher sees even steps: at each look, whether there was a step since the last one."""
    habit, steps = Habit(look_s), 0
    for look in range(1, int(for_s / look_s)):
        at_s = look * look_s
        if at_s // step_s > steps:
            steps = int(at_s // step_s)
            habit.moved(at_s)
    return habit


def fed(*gaps: float) -> tuple[Habit, float]:
    habit, at_s = Habit(), 0.0
    habit.moved(at_s)
    for gap_s in gaps:
        at_s += gap_s
        habit.moved(at_s)
    return habit, at_s


def test_without_a_habit_nothing_is_too_long() -> None:
    habit = Habit()
    assert habit.still_s(100.0) == 0.0
    assert (habit.usual_s(100.0), habit.pace_s, habit.limit_s(100.0)) == (0.0, 0.0, math.inf)
    habit.moved(101.0)
    assert habit.still_s(500.0) == 399.0
    assert not habit.is_still(500.0)


def test_of_a_habit_that_was_seen_once_more_is_forgiven() -> None:
    habit, at_s = fed(30.0)
    assert habit.usual_s(at_s) == 30.0
    assert habit.limit_s(at_s) == 90.0
    habit, at_s = fed(1.0, 1.0)
    assert habit.limit_s(at_s) == 10.0


def test_short_steps_may_rest_for_five_seconds() -> None:
    habit = looked_at(0.05, for_s=60)
    assert habit.last_s is not None
    assert habit.usual_s(59.0) == pytest.approx(1.0, abs=0.1)
    assert habit.limit_s(59.0) == FLOOR_S
    assert not habit.is_still(habit.last_s + 4.9)
    assert habit.is_still(habit.last_s + 5.1)


@pytest.mark.parametrize("step_s", [2.5, 4.0, 7.3, 10.0, 30.0])
def test_long_steps_may_miss_two_of_themselves_and_not_three(step_s: float) -> None:
    habit = looked_at(step_s, for_s=20 * step_s)
    assert habit.last_s is not None
    limit_s = habit.limit_s(habit.last_s)
    assert 2 * step_s <= limit_s <= max(FLOOR_S, 3 * step_s)


def test_a_pause_that_was_seen_once_is_known_the_next_time() -> None:
    habit, at_s = fed(*[1.0] * 100, 60.0, *[1.0] * 300)
    assert habit.usual_s(at_s) == pytest.approx(60.0, rel=0.1)
    assert not habit.is_still(at_s + 62.0)
    assert habit.is_still(at_s + 80.0)
    assert habit.pace_s == 1.0


def test_a_known_pause_is_forgotten_in_the_course_of_hours() -> None:
    habit, at_s = fed(*[1.0] * 100, 60.0, *[1.0] * 300)
    assert habit.usual_s(at_s + 6 * 3600) < 2.0


def test_a_checkpoint_every_twenty_seconds_is_no_stillness() -> None:
    habit, at_s = Habit(), 0.0
    habit.moved(at_s)
    for _ in range(50):
        for gap_s in (*[1.0] * 17, 3.0):
            assert not habit.is_still(at_s + gap_s)
            at_s += gap_s
            habit.moved(at_s)


def test_time_in_which_nobody_looked_is_not_the_tasks() -> None:
    habit, at_s = fed(*[1.0] * 30)
    habit.observed_late(20.0, at_s + 21.0)
    assert habit.still_s(at_s + 21.0) == pytest.approx(1.0)
    assert not habit.is_still(at_s + 21.0)
    assert habit.limit_s(at_s + 21.0) == FLOOR_S + 20.0
    assert habit.limit_s(at_s + 60.0) == FLOOR_S


def test_an_observer_that_is_late_again_and_again_stays_careful() -> None:
    habit, at_s = fed(*[1.0] * 30)
    habit.observed_late(4.0, at_s + 5.0)
    habit.observed_late(2.0, at_s + 8.0)
    assert habit.limit_s(at_s + 9.0) == FLOOR_S + 4.0
    Habit().observed_late(2.0, 5.0)


def test_late_looks_never_put_the_last_sign_into_the_future() -> None:
    habit, at_s = fed(*[1.0] * 30)
    habit.observed_late(50.0, at_s + 2.0)
    assert habit.still_s(at_s + 2.0) == 0.0


def test_a_pause_that_is_not_its_own_teaches_nothing() -> None:
    habit, at_s = fed(*[1.0] * 30)
    habit.went_on(at_s + 100.0)
    assert habit.still_s(at_s + 101.0) == 1.0
    assert habit.usual_s(at_s + 101.0) == pytest.approx(1.0, rel=0.1)


def test_steps_that_became_longer_are_learned() -> None:
    habit, at_s = fed(*[1.0] * 100, *[20.0] * 40)
    assert habit.pace_s == 20.0
    assert 40.0 <= habit.limit_s(at_s) <= 60.0


@given(
    st.floats(0.5, 60.0),
    st.floats(0.0, 0.35),
    st.lists(st.floats(-2.5, 2.5), min_size=40, max_size=80),
)
def test_no_alarm_in_what_comes_from_the_same_distribution(
    median_s: float, sigma: float, draws: list[float]
) -> None:
    """Gaps spread over a factor of six, once the habit has seen some of them."""
    gaps = [median_s * math.exp(sigma * draw) for draw in draws]
    # What it learns from holds the spread that comes later, as a long training does.
    habit, at_s = fed(*gaps[:20], median_s * math.exp(2.5 * sigma))
    for gap_s in gaps[20:]:
        assert not habit.is_still(at_s + gap_s)
        at_s += gap_s
        habit.moved(at_s)


@given(st.lists(st.floats(0.05, 120.0), min_size=3, max_size=60))
def test_an_alarm_always_comes_within_a_bound(gaps: list[float]) -> None:
    habit, at_s = fed(*gaps)
    worst_s = max(FLOOR_S, max(gaps) * 150)
    assert habit.is_still(at_s + worst_s + 1)
    assert habit.limit_s(at_s) >= FLOOR_S


@given(st.floats(0.05, 60.0), st.integers(4, 100))
def test_even_steps_are_told_within_three_of_them(step_s: float, count: int) -> None:
    habit, at_s = fed(*[step_s] * count)
    limit_s = habit.limit_s(at_s)
    assert limit_s >= 2 * step_s
    assert limit_s <= max(FLOOR_S, 3 * step_s)


def test_however_uneven_a_task_is_three_of_its_longest_pauses_are_too_long() -> None:
    habit, at_s = fed(30.0, 1.0, 30.0, 1.0, 30.0, 1.0)
    assert habit.limit_s(at_s) == pytest.approx(90.0, rel=0.01)
