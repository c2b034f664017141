"""How long a task does nothing, and when that is longer than ever."""

import pytest

from holdfast.model.idleness import (
    ASLEEP_S,
    KNOWN_S,
    LOOKS_KNOWN,
    UNKNOWN_S,
    WAKING_S,
    Idleness,
    Spell,
)


class Watched:
    """A task that is looked at every second."""

    def __init__(self) -> None:
        self.idleness = Idleness()
        self.at_s = 0.0

    def busy(self, looks: int, *, cores: float = 0.8, begun: bool = True) -> "Watched":
        for _ in range(looks):
            self.see(cores=cores, main_cores=cores, wakes_per_s=20.0, begun=begun)
        return self

    def idle(self, looks: int, *, held: bool = False, begun: bool = True) -> "Watched":
        for _ in range(looks):
            self.see(held=held, begun=begun)
        return self

    def see(
        self,
        *,
        cores: float = 0.0,
        main_cores: float = 0.0,
        wakes_per_s: float = 0.0,
        begun: bool = True,
        stepped: bool = False,
        held: bool = False,
        late_s: float = 0.0,
    ) -> None:
        self.at_s += 1.0 + late_s
        self.idleness.see(
            self.at_s,
            cores=cores,
            main_cores=main_cores,
            wakes_per_s=wakes_per_s,
            usual_wakes_per_s=20.0 if begun else 0.0,
            begun=begun,
            stepped=stepped,
            held=held,
            late_s=late_s,
        )

    @property
    def spell(self) -> Spell | None:
        return self.idleness.spell()


def test_who_computes_has_no_spell() -> None:
    assert Watched().busy(60).spell is None


def test_a_spell_longer_than_any_before_is_told_with_its_habit() -> None:
    task = Watched().busy(LOOKS_KNOWN).idle(int(KNOWN_S))
    assert task.spell is None
    task.idle(1)
    assert task.spell is not None
    assert (task.spell.since_s, task.spell.idle_s) == (LOOKS_KNOWN, int(KNOWN_S) + 1)
    assert task.spell.usual_s == pytest.approx(1.0, rel=0.01)


def test_without_a_habit_it_takes_longer() -> None:
    task = Watched().busy(1).idle(int(UNKNOWN_S) - 1)
    assert task.spell is None
    task.idle(1)
    assert task.spell == Spell(since_s=1.0, idle_s=UNKNOWN_S, usual_s=0.0)


def test_light_steps_before_there_is_a_habit_are_no_spell() -> None:
    """A step that costs milliseconds, every three seconds."""
    task = Watched().busy(LOOKS_KNOWN, begun=False)
    for _ in range(12):
        task.idle(2, begun=False).see(cores=0.01, main_cores=0.002, wakes_per_s=3.0, begun=False)
    assert task.spell is None


def test_polls_before_there_is_a_habit_are_a_spell_in_time() -> None:
    """They may be steps that are lighter still."""
    task = Watched().busy(LOOKS_KNOWN, begun=False)
    for _ in range(int(WAKING_S) // 3):
        assert task.spell is None
        task.idle(2, begun=False).see(cores=0.01, main_cores=0.0002, wakes_per_s=1.0, begun=False)
    assert task.spell == Spell(LOOKS_KNOWN, WAKING_S, 0.0)


def test_half_of_the_patience_is_enough_to_doubt() -> None:
    task = Watched().busy(1).idle(2)
    assert task.spell is None
    assert task.idleness.spell(0.5) is not None


def test_pauses_within_habit_are_no_spell() -> None:
    task = Watched()
    for _ in range(5):
        task.busy(8).idle(10)
    assert task.spell is None
    task.idle(6)
    assert task.spell is not None


def test_pauses_of_its_start_teach_nothing() -> None:
    task = Watched().busy(1, begun=False).idle(60, begun=False).busy(LOOKS_KNOWN).idle(4)
    assert task.spell is not None


def test_a_pause_while_somebody_is_stopped_is_nobodys_habit() -> None:
    task = Watched().busy(LOOKS_KNOWN).idle(60, held=True).busy(LOOKS_KNOWN).idle(4)
    assert task.spell is not None


def test_time_in_which_we_did_not_look_is_ours() -> None:
    task = Watched().busy(LOOKS_KNOWN)
    task.see(late_s=20.0)
    task.idle(10)
    assert task.spell is None
    task.idle(20)
    assert task.spell is not None


def test_who_only_polls_is_idle_all_the_same() -> None:
    task = Watched().busy(LOOKS_KNOWN)
    for _ in range(5):
        task.see(cores=0.01, main_cores=0.01, wakes_per_s=1.0)
    assert task.spell is not None


def test_who_wakes_as_often_as_ever_is_at_work() -> None:
    task = Watched().busy(LOOKS_KNOWN, cores=0.02)
    for _ in range(30):
        task.see(cores=0.02, main_cores=0.01, wakes_per_s=20.0)
    assert task.spell is None


def test_native_threads_that_compute_are_work() -> None:
    task = Watched().busy(LOOKS_KNOWN)
    for _ in range(30):
        task.see(cores=0.5)
    assert task.spell is None


def test_who_takes_steps_is_not_idle_however_little_they_cost() -> None:
    task = Watched().busy(LOOKS_KNOWN)
    for _ in range(30):
        task.see(cores=0.01, main_cores=0.01, wakes_per_s=1.0, stepped=True)
    assert task.spell is None


def test_a_main_thread_that_does_not_wake_is_a_spell_though_its_process_computes() -> None:
    task = Watched()
    for _ in range(int(ASLEEP_S)):
        task.see(cores=0.5, begun=False)
    assert task.spell is None
    task.see(cores=0.5, begun=False)
    assert task.spell == Spell(since_s=1.0, idle_s=ASLEEP_S, usual_s=0.0)


def test_who_is_left_after_all_others_have_ended_has_no_habits_any_more() -> None:
    watched = Watched().busy(10).idle(40).busy(10).idle(int(UNKNOWN_S) + 1)
    assert watched.spell is None
    assert watched.idleness.spell(is_left=True) is not None
    assert Watched().busy(10).idleness.spell(is_left=True) is None


def test_a_late_look_of_ours_does_not_end_a_spell_that_was_told() -> None:
    task = Watched().busy(LOOKS_KNOWN).idle(3)
    assert task.spell is not None
    task.see(late_s=2.0)
    assert task.spell is None  # what was not told by now can wait
    lasts = task.idleness.spell(is_told=True)
    assert lasts is not None
    assert lasts.idle_s == 4.0
    task.busy(1)
    assert task.idleness.spell(is_told=True) is None
