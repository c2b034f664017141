"""What a task exchanges with the others, and since when it exchanges nothing."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.traffic import LOOK_S, Traffic, beside


def trained(counts: int = 10, rate: float = 9000.0) -> tuple[Traffic, float]:
    """One that exchanged as much in each count, and when the last one was."""
    traffic = Traffic()
    for number in range(counts):
        traffic.see(number * LOOK_S, rate)
    return traffic, (counts - 1) * LOOK_S


def test_one_that_exchanges_nothing_any_more_has_a_spell() -> None:
    traffic, last_s = trained()
    assert traffic.spell(last_s) is None
    traffic.see(last_s + 3, 0.0)
    traffic.see(last_s + 6, 200.0)  # a heartbeat
    assert traffic.spell(last_s + 7) is None
    assert traffic.spell(last_s + 7, 0.65), "time to see what it does"
    spell = traffic.spell(last_s + 8)
    assert spell is not None
    assert (spell.since_s, spell.idle_s, spell.unstepped) == (last_s, 8.0, True)
    assert spell.usual_s == pytest.approx(LOOK_S, rel=0.01)
    traffic.see(last_s + 9, 8000.0)
    assert traffic.spell(last_s + 9) is None


def test_a_pause_that_it_made_before_is_its_habit() -> None:
    traffic, last_s = trained()
    traffic.see(last_s + 30, 9000.0)
    assert traffic.spell(last_s + 60) is None
    assert traffic.spell(last_s + 75)


def test_a_pause_while_somebody_was_stopped_is_no_habit() -> None:
    traffic, last_s = trained()
    traffic.see(last_s + 3, 0.0, held=True)
    traffic.see(last_s + 30, 9000.0)
    assert traffic.spell(last_s + 40)


def test_time_in_which_nobody_looked_is_not_its_own() -> None:
    traffic, last_s = trained()
    traffic.observed_late(20.0, last_s + 23)
    assert traffic.spell(last_s + 30) is None


def test_of_one_that_never_exchanged_much_nothing_is_known() -> None:
    traffic = Traffic()
    assert not traffic.flows
    traffic.see(0.0, 100.0)
    assert not traffic.flows, "that may be heartbeats"
    for at_s in (6.0, 9.0, 60.0):
        traffic.see(at_s, 0.0)
    assert traffic.spell(100.0) is None
    assert not traffic.flows
    assert not traffic.is_quiet


def test_one_that_exchanges_what_it_usually_does_flows() -> None:
    traffic, last_s = trained()
    assert traffic.flows
    traffic.see(last_s + 3, 5000.0)
    assert traffic.flows, "more or less"
    traffic.see(last_s + 6, 1000.0)
    assert not traffic.flows, "a heartbeat more often than usual"
    assert not traffic.is_quiet
    traffic.see(last_s + 9, 100.0)
    assert traffic.is_quiet


def test_one_that_has_just_begun_to_exchange_flows() -> None:
    traffic = Traffic()
    traffic.see(0.0, 4000.0)
    assert traffic.flows


def test_what_a_start_exchanges_is_not_what_is_usual() -> None:
    traffic = Traffic()
    for number, rate in enumerate((900_000.0, 9000.0, 9000.0)):
        traffic.see(number * LOOK_S, rate)
    assert traffic.flows


def test_one_without_habits_that_falls_behind_those_beside_it_has_a_spell() -> None:
    traffic = Traffic()
    for at_s, rate in ((0.0, 100.0), (3.0, 2000.0), (6.0, 40.0), (9.0, 0.0)):
        traffic.see(at_s, rate, others_per_s=7000.0)
    assert traffic.spell(11.0) is None
    assert traffic.spell(11.0, 0.65), "time to see what it does"
    spell = traffic.spell(11.5)
    assert spell is not None
    assert (spell.since_s, spell.idle_s, spell.usual_s, spell.unstepped) == (3.0, 8.5, 0.0, True)
    traffic.observed_late(4.0, 15.0)
    assert traffic.spell(15.0) is None, "nobody looked"
    traffic.see(15.0, 5000.0, others_per_s=7000.0)
    assert traffic.spell(40.0) is None


def test_one_without_habits_is_left_alone_where_the_others_rest_too() -> None:
    traffic = Traffic()
    traffic.see(3.0, 2000.0, others_per_s=7000.0)
    traffic.see(6.0, 0.0, others_per_s=300.0)
    assert traffic.spell(60.0) is None


def test_one_that_has_not_begun_yet_is_not_behind() -> None:
    traffic = Traffic()
    for at_s in (0.0, 3.0, 6.0):
        traffic.see(at_s, 10.0, others_per_s=7000.0)
    traffic.observed_late(2.0, 8.0)
    assert traffic.spell(60.0) is None


def test_those_that_train_beside_it_are_the_middle_of_the_others() -> None:
    tasks = [TaskId("worker", number) for number in range(4)]
    rates = dict(zip(tasks, (1.0, 5.0, 900.0, 7.0), strict=True))
    assert beside(tasks[2], rates) == 5.0
    assert beside(tasks[0], rates) == 7.0
    assert beside(tasks[0], {tasks[0]: 1.0}) == 0.0


def test_one_that_always_exchanges_less_than_the_others_has_a_habit_of_its_own() -> None:
    light = Traffic()
    for number in range(3):
        light.see(number * LOOK_S, 600.0, others_per_s=50_000.0)
    assert light.is_known
    assert light.spell(8.0) is None


def test_who_has_a_habit_is_not_measured_by_others_that_exchange_more_now() -> None:
    traffic, last_s = trained()
    for number in range(1, 9):
        traffic.see(last_s + number * LOOK_S, 9000.0, others_per_s=1e6)
    assert traffic.spell(last_s + 25) is None
