"""Of several that are not in the step, who is meant."""

from dataclasses import replace

from tests.pure.stillness import TRAIN, W0, W1, W2, asleep, attempt, in_step, look, thread, waits

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.standstill import AWAIT_LOOKS_S, standstills
from holdfast.model.watch_facts import TaskMoves

ALL = attempt(W0, W1, W2)
CHILD = thread(TRAIN, "/srv/train.py:70 save: subprocess.run(command)", blocked="do_wait")
GONE = TaskExited(at_s=95.0, host="host-a", task=W2, exit_code=0)


def ahead(*facts: Fact) -> list[TaskId]:
    return [one.task for each in standstills(Evidence(facts)) for one in each.ahead]


def told(*facts: Fact) -> list[tuple[TaskId | None, str]]:
    findings = diagnose(Evidence(facts)).findings
    return [(one.proof.culprit, one.proof.says) for one in findings if one.cause.general]


def test_of_many_at_whom_nobody_got_to_look_one_word_is_told() -> None:
    stand = [waits(task, AWAIT_LOOKS_S + index) for index, task in enumerate((W0, W1, W2))]
    ((culprit, says),) = told(ALL, *stand)
    assert culprit is None
    assert says.startswith(
        "worker:0, worker:1 and worker:2 stand still since 14 s: nothing is known"
    )
    assert [culprit for culprit, _ in told(ALL, *stand[:1])] == [W0]
    assert [culprit for culprit, _ in told(ALL, *stand[:2], asleep(W2), stand[2])] == [W2, None]


def test_who_is_where_it_never_was_comes_before_who_goes_on_from_there_each_step() -> None:
    """Both are at their own; the uneven pauses of one of them are a habit."""
    before = asleep(W2, at_s=80.0)
    now = (waits(W0, 6.0), waits(W2, 6.0), in_step(W0), look(CHILD, task=W1), asleep(W2))
    assert ahead(ALL, *now) == [W2]
    assert ahead(ALL, before, *now) == [W1]


def test_who_was_seen_elsewhere_since_it_was_there_has_gone_on_from_there() -> None:
    before = (asleep(W2, at_s=80.0), in_step(W2, at_s=90.0))
    assert ahead(ALL, *before, waits(W0, 6.0), in_step(W0), look(CHILD, task=W1), asleep(W2)) == [
        W1
    ]


def test_who_is_still_there_has_not_gone_on() -> None:
    before = asleep(W2, at_s=80.0)
    assert ahead(ALL, before, waits(W0, 6.0), in_step(W0), asleep(W1), asleep(W2)) == [W1, W2]


def test_where_all_were_there_before_those_that_stand_still_are_meant() -> None:
    before = (asleep(W1, at_s=80.0), in_step(W1, at_s=90.0), asleep(W2, at_s=80.0))
    now = (waits(W0, 6.0), waits(W2, 6.0), in_step(W0), asleep(W1), asleep(W2))
    assert ahead(ALL, *before, *now) == [W2]


def test_who_lives_and_stands_still_comes_before_who_has_ended_well() -> None:
    assert ahead(ALL, GONE, waits(W0, 6.0), waits(W1, 6.0), in_step(W0), asleep(W1)) == [W1]


def test_whether_one_that_has_ended_or_one_at_its_own_part_is_waited_for_shows_with_time() -> None:
    soon = (waits(W0, 6.0), in_step(W0), asleep(W1))
    assert ahead(ALL, GONE, *soon) == []
    assert ahead(ALL, replace(GONE, at_s=100.0 - AWAIT_LOOKS_S), *soon) == [W1]
    assert ahead(ALL, GONE, asleep(W1, at_s=98.0), *soon) == [W1], "it stays where it is"
    assert ahead(ALL, GONE, waits(W0, 6.0), in_step(W0), in_step(W1)) == [W2]


def test_a_look_from_before_it_moved_tells_nothing_once_there_was_time_for_another() -> None:
    before = [in_step(W0, at_s=95.0), in_step(W1, at_s=95.0)]
    moved = TaskMoves(at_s=96.0, host="host-a", task=W0, still_s=5.0)
    soon = [waits(W0, 20.0, at_s=100.0), waits(W1, 20.0, at_s=100.0)]
    later = [waits(W0, 40.0, at_s=120.0), waits(W1, 40.0, at_s=120.0)]
    gone = replace(GONE, at_s=94.0)
    assert ahead(ALL, gone, *before, moved, *soon) == [W2]
    one = standstills(Evidence([ALL, gone, *before, moved, *later]))[0]
    assert [each.task for each in one.waiting] == [W1], "nobody knows any more what worker:0 does"
