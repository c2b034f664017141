"""What a task exchanges with the others, and since when it exchanges nothing."""

import pytest

from holdfast.model.traffic import LOOK_S, Traffic


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
