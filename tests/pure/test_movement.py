"""Whether a task moves, by all its signs together: values in, values out."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from holdfast.model.idleness import Spell
from holdfast.model.movement import Movement, Signs, Stillness

STARTING = Signs(at_s=0.0, wakes=0, run_share=0.6, cpu_s=0.0)
TRAINING = Signs(at_s=0.0, wakes=32, run_share=0.03, cpu_s=0.0)
BLOCKED = Signs(at_s=0.0, wakes=0, run_share=0.0, cpu_s=0.0)
LOOPING = Signs(at_s=0.0, wakes=0, run_share=1.0, cpu_s=0.0)


class Watch:
    """Feeds looks a second apart; what they use of a core adds up."""

    def __init__(self, *, is_server: bool = False) -> None:
        self.movement = Movement(is_server=is_server)
        self.at_s = self.cpu_s = 0.0

    def see(
        self, signs: Iterable[Signs], *, cpu_share: float | None = None, every_s: float = 1.0
    ) -> list[Stillness]:
        found = []
        for one in signs:
            self.at_s += every_s
            self.cpu_s += (one.run_share if cpu_share is None else cpu_share) * every_s
            self.movement.see(replace(one, at_s=self.at_s, cpu_s=self.cpu_s))
            found += [still] if (still := self.movement.stillness()) else []
        return found

    def start_up(self) -> None:
        uneven = (51, 186, 124, 363, 211, 298, 20, 194)
        assert self.see(replace(STARTING, wakes=wakes) for wakes in uneven) == []
        assert not self.movement.begun


def with_steps(count: int, *, every: int = 1) -> list[Signs]:
    """Looks at a task that trains, of which some tell a step."""
    return [replace(TRAINING, stepped=look % every == 0) for look in range(count)]


def test_nobody_has_looked_yet() -> None:
    assert Movement().stillness() is None
    assert Movement().wake_rate == 0.0


def test_a_main_thread_that_stops_waking_is_told_after_five_seconds() -> None:
    watch = Watch()
    watch.start_up()
    assert watch.see(with_steps(20)) == []
    assert watch.movement.begun
    assert watch.movement.wake_rate == 32
    assert watch.see([BLOCKED] * 5) == []
    (still,) = watch.see([BLOCKED])
    assert (still.still_s, still.sign) == (6.0, "main thread")
    assert still.cpu_share == pytest.approx(0.0)
    assert still.usual_s == pytest.approx(1.0, rel=0.01)
    assert watch.see([TRAINING]) == []


def test_a_task_that_burns_a_core_in_place_of_its_steps_stands_still_by_its_steps() -> None:
    watch = Watch()
    watch.start_up()
    watch.see(with_steps(20))
    assert watch.see([LOOPING] * 5) == []
    (still,) = watch.see([LOOPING])
    assert (still.sign, still.still_s) == ("steps", 6.0)
    assert still.cpu_share == pytest.approx(1.0)


def test_words_of_a_background_thread_do_not_hide_that_steps_have_stopped() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    told = watch.see([replace(BLOCKED, spoke=True)] * 7)
    assert [still.sign for still in told] == ["steps", "steps"]


def test_a_loop_with_little_sleeps_is_seen_by_its_steps_and_its_other_rhythm() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    told = watch.see([replace(TRAINING, wakes=100)] * 8)
    assert {still.sign for still in told} == {"steps"}
    assert told[0].still_s == 6.0


def test_a_log_that_becomes_rare_is_no_stillness() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    assert watch.see(with_steps(300, every=100)) == []


def test_wakeups_that_are_too_few_for_its_steps_are_no_movement() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    assert watch.see([replace(BLOCKED, wakes=1)] * 7), "somebody else wakes it once a second"


def test_a_training_that_becomes_ten_times_slower_still_moves() -> None:
    watch = Watch()
    watch.see(with_steps(40))
    assert watch.see([replace(TRAINING, wakes=3)] * 40) == []


def test_long_steps_are_known_by_their_rhythm_alone() -> None:
    watch = Watch()
    watch.start_up()
    step = [*[BLOCKED] * 9, replace(BLOCKED, wakes=2)]
    told = watch.see(step * 6)
    assert watch.movement.begun
    assert {still.usual_s for still in told} <= {0.0}
    told = watch.see([BLOCKED] * 40)
    assert 20 <= told[0].still_s <= 30
    assert told[0].usual_s == pytest.approx(10.0, rel=0.01)


def test_before_it_trains_cpu_is_enough_and_stillness_is_no_accusation() -> None:
    watch = Watch()
    watch.start_up()
    assert watch.see([BLOCKED] * 90, cpu_share=0.9) == []
    told = watch.see([BLOCKED] * 40, cpu_share=0.0)
    assert {still.sign for still in told} == {"processes"}, "which means nothing alone"


def test_stillness_without_any_cpu_is_worth_a_look_after_ten_seconds() -> None:
    watch = Watch()
    watch.start_up()
    assert watch.see([BLOCKED] * 10) == []
    (still,) = watch.see([BLOCKED])
    assert (still.usual_s, still.sign, still.still_s) == (0.0, "main thread", 11.0)


def test_who_waits_for_others_in_a_rhythm_has_not_begun() -> None:
    watch = Watch()
    poll = [*[BLOCKED] * 9, replace(BLOCKED, wakes=2, waits=True)]
    told = watch.see(poll * 8)
    assert not watch.movement.begun
    assert {still.usual_s for still in told} <= {0.0}


def test_a_server_is_still_when_its_processes_are_and_only_after_a_habit() -> None:
    watch = Watch(is_server=True)
    assert watch.see([BLOCKED] * 60) == []
    assert watch.see([BLOCKED] * 30, cpu_share=0.08) == []
    told = watch.see([BLOCKED] * 8)
    assert {still.sign for still in told} == {"processes"}


def test_a_worker_that_serves_is_recognised_by_what_it_does() -> None:
    watch = Watch()
    watch.start_up()
    watch.see([BLOCKED] * 20, cpu_share=0.05)
    assert watch.movement.is_server
    assert {still.sign for still in watch.see([BLOCKED] * 20)} == {"processes"}


def test_an_observer_that_was_late_accuses_nobody() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    assert watch.see([BLOCKED] * 4) == []
    assert watch.see([replace(BLOCKED, late_s=9.0)], every_s=10.0) == []
    assert watch.see([BLOCKED] * 4) == []
    assert watch.see([BLOCKED] * 10)


def test_what_others_are_stopped_for_is_no_habit() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    assert watch.see([replace(BLOCKED, held=True)] * 30)
    watch.see(with_steps(20))
    assert watch.see([BLOCKED] * 7)[0].usual_s < 2.0


def test_an_evaluation_is_told_once_and_then_known() -> None:
    watch = Watch()
    watch.see(with_steps(30))
    assert watch.see([BLOCKED] * 60)
    watch.see(with_steps(30))
    assert watch.see([BLOCKED] * 62) == []
    assert watch.see([BLOCKED] * 30)


def test_two_looks_at_one_moment_are_one() -> None:
    movement = Movement()
    for _ in range(2):
        movement.see(replace(TRAINING, at_s=5.0))
    assert movement.stillness() is None


def test_steps_that_another_thread_tells_are_enough() -> None:
    watch = Watch()
    watch.see([replace(BLOCKED, stepped=True)] * 20, cpu_share=0.5)
    assert watch.movement.begun
    assert watch.movement.wake_rate == 0.0
    told = watch.see([BLOCKED] * 8, cpu_share=0.5)
    assert [still.sign for still in told[:1]] == ["steps"]


def test_with_half_of_the_patience_a_doubt_comes_sooner() -> None:
    watch = Watch()
    watch.start_up()
    watch.see(with_steps(20))
    watch.see([BLOCKED] * 3)
    assert watch.movement.stillness() is None
    doubt = watch.movement.stillness(0.55)
    assert doubt is not None
    assert (doubt.sign, doubt.still_s) == ("main thread", 3.0)
    unbegun = Watch()
    unbegun.start_up()
    unbegun.see([BLOCKED] * 6)
    assert unbegun.movement.stillness() is None
    assert unbegun.movement.stillness(0.55) is not None


def test_no_second_step_for_long_is_a_spell_and_the_second_one_ends_it() -> None:
    watch = Watch()
    watch.start_up()
    assert watch.movement.unstepped() is None, "none was told at all"
    watch.see([replace(TRAINING, stepped=True)])
    began_s = watch.at_s
    watch.see([LOOPING] * 19)
    assert watch.movement.unstepped() is None
    assert watch.movement.unstepped(0.5) is not None
    watch.see([LOOPING])
    assert watch.movement.unstepped() == Spell(began_s, 20.0, 0.0, unstepped=True)
    watch.see([replace(TRAINING, stepped=True), *[LOOPING] * 60])
    assert watch.movement.unstepped() is None, "three times its longest step are not over"
    watch.see([LOOPING] * 20)
    assert watch.movement.unstepped() == Spell(began_s + 21, 80.0, 0.0, unstepped=True)
    watch.see([replace(TRAINING, stepped=True)] * 2 + [LOOPING] * 600)
    assert watch.movement.unstepped() is None, "it has a habit now"


def test_a_late_look_of_ours_does_not_end_a_stillness_that_was_told() -> None:
    watch = Watch()
    watch.start_up()
    watch.see(with_steps(40))
    assert len(watch.see([BLOCKED] * 6)) == 1
    assert watch.see([replace(BLOCKED, late_s=4.0)], every_s=5.0) == []
    assert watch.movement.stillness(is_told=True) is not None
    watch.see([TRAINING])
    assert watch.movement.stillness(is_told=True) is None


def test_who_is_left_and_wakes_as_in_its_steps_stands_still_when_it_tells_none() -> None:
    watch = Watch()
    watch.see(with_steps(20))
    assert watch.see([TRAINING] * 12) == [], "among others, it may only tell them less often"
    still = watch.movement.stillness(is_left=True)
    assert still is not None
    assert (still.sign, still.still_s) == ("steps", 12.0)
