"""Who keeps whom waiting."""

from dataclasses import replace

import pytest
from tests.pure.stillness import (
    LEAVES,
    STEP,
    TRAIN,
    W0,
    W1,
    W2,
    activity,
    asleep,
    attempt,
    in_step,
    look,
    process,
    thread,
    waits,
)

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, PathProbed, StopAsked, TaskExited
from holdfast.model.findings import Severity
from holdfast.model.path import Outcome
from holdfast.model.stance import Stance
from holdfast.model.standstill import (
    AWAIT_LOOKS_S,
    START_S,
    TOLD_AGAIN_S,
    Standstill,
    able_s,
    standstills,
)
from holdfast.model.watch_facts import StepsSeen, TaskMoves, TaskSampled, TaskStill

ALL = attempt(W0, W1, W2)
JAX = thread(TRAIN, "/srv/train.py:12 step: loss = update(params)", blocked="waker")
JAX_LEAVES = (
    "site-packages/jax/_src/api.py:2582 clean_up: distributed.shutdown()",
    "site-packages/jax/_src/distributed.py:199 shutdown: self.client.shutdown()",
)
OWN = (TRAIN, "/srv/train.py:40 mix: total += sum(rows)")
OTHER = thread(TRAIN, "/srv/train.py:50 save: native.save(params)", blocked="waker")


def found(*facts: Fact) -> list[tuple[list[TaskId], list[TaskId]]]:
    """Who is ahead, and who waits, of each."""
    return [
        ([one.task for one in each.ahead], [one.task for one in each.waiting])
        for each in standstills(Evidence(facts))
    ]


def only(*facts: Fact) -> Standstill:
    (one,) = standstills(Evidence(facts))
    return one


def still(task: TaskId, for_s: float, at_s: float = 100.0, sign: str = "steps") -> TaskStill:
    return TaskStill(
        at_s=at_s, host="host-a", task=task, still_s=for_s, usual_s=2.0, sign=sign, cpu_share=0.0
    )


def sampled(task: TaskId, starved_share: float, at_s: float = 99.0) -> TaskSampled:
    return TaskSampled(
        at_s=at_s,
        host="host-a",
        task=task,
        pid=7,
        state="S",
        over_s=10.0,
        cpu_share=0.0,
        starved_share=starved_share,
    )


def test_nobody_stands_still() -> None:
    assert found() == found(ALL) == found(ALL, in_step(W0), asleep(W1)) == []


def test_whoever_is_not_in_the_step_keeps_the_others_waiting() -> None:
    one = only(
        ALL, in_step(W0), in_step(W1), asleep(W2), waits(W0, 6.0), waits(W1, 7.0), waits(W2, 6.0)
    )
    assert [each.task for each in one.ahead] == [W2]
    assert [each.task for each in one.waiting] == [W0, W1]
    assert (one.since_s, one.lasts_s, one.usual_s) == (93.0, 7.0, 1.0)
    assert one.ahead[0].words == "it sleeps at train.py:30 in pause"
    assert len(one.ahead[0].facts) == 2


def test_who_is_waited_for_need_not_stand_still_itself() -> None:
    assert found(ALL, in_step(W0), asleep(W2), waits(W0, 6.0)) == [([W2], [W0])]


def test_two_that_are_ahead_are_both_named() -> None:
    facts = (ALL, in_step(W0), asleep(W1), asleep(W2), waits(W0, 6.0))
    assert found(*facts) == [([W1, W2], [W0])]
    one, two = (finding.proof.says for finding in diagnose(Evidence(facts)).findings)
    what = "since 6 s: it sleeps at train.py:30 in pause"
    assert one == f"worker:0 waits for worker:1 {what} (worker:2 not in the step either)"
    assert two == f"worker:0 waits for worker:2 {what} (worker:1 not in the step either)"


def test_of_several_those_that_stand_still_are_meant() -> None:
    facts = (ALL, in_step(W0), asleep(W1), asleep(W2), waits(W0, 6.0), waits(W2, 6.0))
    assert found(*facts) == [([W2], [W0])]


def test_who_is_at_something_of_its_own_comes_before_who_computes() -> None:
    computes = look(thread(*STEP, running=True), task=W1)
    assert found(ALL, in_step(W0), computes, asleep(W2), waits(W0, 6.0)) == [([W2], [W0])]
    assert found(ALL, in_step(W0), computes, in_step(W2), waits(W0, 6.0)) == [([W1], [W0])]


def test_where_nobody_is_ahead_the_last_one_to_begin_is_told() -> None:
    facts = (ALL, in_step(W0), in_step(W1), waits(W0, 9.0), waits(W1, 6.0))
    assert found(*facts) == [([], [W0, W1])]
    (finding,) = diagnose(Evidence(facts)).findings
    assert finding.proof.culprit is None
    assert finding.proof.says.startswith(
        "worker:0 and worker:1 all wait since 9 s, and nobody is ahead:"
        " worker:1 was the last to begin, 3 s after the first;"
    )


def test_within_one_look_nobody_was_the_last() -> None:
    facts = (ALL, in_step(W0), in_step(W1), waits(W0, 9.0), waits(W1, 8.6))
    (finding,) = diagnose(Evidence(facts)).findings
    assert "nobody is ahead: worker:1 is one of them; it waits inside" in finding.proof.says


def test_a_lone_task_stands_still_by_itself() -> None:
    step = StepsSeen(at_s=90.0, host="host-a", task=W0, step=7, source="log")
    facts = (attempt(W0), step, asleep(W0), waits(W0, 6.0))
    assert found(*facts) == [([W0], [])]
    (finding,) = diagnose(Evidence(facts)).findings
    assert finding.proof.says == (
        "worker:0 stands still since 6 s after step 7: it sleeps at train.py:30 in pause"
    )


def test_a_lone_task_is_not_told_while_another_process_of_the_job_is_stopped() -> None:
    """That one is told, and may well be why; what was before does not count."""
    facts = (ALL, asleep(W0), waits(W0, 6.0))
    assert found(*facts, activity(process("stopped"), task=W1)) == []
    assert found(*facts, activity(process("sleeps"), task=W1)) == [([W0], [])]
    assert found(activity(process("stopped"), task=W1, at_s=90.0), *facts) == [([W0], [])]


def test_who_moves_and_tells_no_second_step_is_noticed_in_its_own_code_alone() -> None:
    """It may take long steps inside of its framework; and a notice is all that can be said."""
    busy = look(thread(*OWN, running=True), task=W0)
    unstepped = replace(waits(W0, 31.0, usual_s=0.0), unstepped=True)
    assert found(attempt(W0), busy, unstepped) == [([W0], [])]
    assert found(attempt(W0), in_step(W0), unstepped) == []
    longer = replace(unstepped, waits_s=9000.0)
    (finding,) = diagnose(Evidence([attempt(W0), busy, longer])).findings
    assert finding.severity is Severity.NOTICE
    (finding,) = diagnose(Evidence([attempt(W0, hang_after_s=60.0), busy, longer])).findings
    assert finding.severity is Severity.ERROR
    both = [ALL, busy, longer, in_step(W1), in_step(W2), waits(W1, 900.0), waits(W2, 900.0)]
    (finding,) = diagnose(Evidence(both)).findings
    assert finding.severity is Severity.ERROR


def test_a_lone_task_inside_of_its_step_is_named_too() -> None:
    (finding,) = diagnose(Evidence([attempt(W0), in_step(W0), waits(W0, 6.0)])).findings
    assert finding.proof.culprit == W0
    assert finding.proof.says.startswith("worker:0 stands still since 6 s: it waits inside of")


def test_one_that_waits_for_work_does_not_stand_still() -> None:
    server = "site-packages/tensorflow/python/training/server_lib.py:9 join: c.Join()"
    serves = look(thread(TRAIN, server, blocked="waker"))
    assert found(attempt(W0), serves, waits(W0, 60.0)) == []


def test_one_that_leaves_keeps_nobody_waiting() -> None:
    leaves = look(thread(*LEAVES, blocked="waker"), task=W2)
    assert found(ALL, in_step(W0), in_step(W1), leaves, waits(W0, 6.0), waits(W1, 6.0)) == [
        ([], [W0, W1])
    ]


def test_one_that_leaves_inside_of_its_framework_waits_for_who_is_elsewhere() -> None:
    leaves = look(thread(*JAX_LEAVES), task=W0)
    polls = asleep(W1)
    for facts in ([waits(W0, 6.0)], [waits(W0, 6.0), waits(W1, 6.0)]):
        assert found(attempt(W0, W1), leaves, polls, *facts) == [([W1], [W0])]
    assert found(attempt(W0, W1), leaves, in_step(W1), waits(W0, 6.0)) == [([W0], [])]


def test_one_that_leaves_for_a_thread_of_its_own_waits_for_no_task() -> None:
    leaves = look(thread(*LEAVES, blocked="waker"), task=W0)
    facts = (leaves, asleep(W1), waits(W0, 9.0), waits(W1, 9.0))
    assert found(attempt(W0, W1), *facts) == [([W0], []), ([W1], [])]


def test_nothing_is_said_before_anybody_had_the_time_to_look() -> None:
    assert found(ALL, waits(W0, AWAIT_LOOKS_S - 1)) == []
    one = only(ALL, waits(W0, AWAIT_LOOKS_S))
    assert one.ahead[0].stance is Stance.UNKNOWN


def test_a_look_from_before_it_stood_still_tells_nothing() -> None:
    stale = asleep(W2, at_s=50.0)
    assert found(ALL, in_step(W0), stale, waits(W0, 6.0)) == [([], [W0])]
    assert found(ALL, asleep(W0, at_s=50.0), waits(W0, 6.0)) == []


def test_what_was_not_told_again_is_over() -> None:
    later = StepsSeen(at_s=101 + TOLD_AGAIN_S, host="host-a", task=W1, step=9, source="log")
    assert found(ALL, asleep(W0), waits(W0, 6.0), later) == []
    assert found(ALL, asleep(W0), still(W0, 6.0), later) == []


def test_steps_that_do_not_come_count_as_well_until_it_moves() -> None:
    facts = (ALL, asleep(W0), still(W0, 8.0))
    assert found(*facts) == [([W0], [])]
    assert found(*facts, TaskMoves(at_s=101.0, host="host-a", task=W0, still_s=8.0)) == []
    assert found(*facts, waits(W0, 0.0)) == [([W0], [])], "only its idleness is over"
    assert found(ALL, asleep(W0), still(W0, 8.0, sign="processes")) == []


def test_servers_and_those_that_have_ended_do_not_stand_still() -> None:
    ps = TaskId("ps", 0)
    gone = TaskExited(at_s=99.0, host="host-a", task=W0, exit_code=0)
    assert found(attempt(ps, W0), look(JAX, task=ps), waits(ps, 60.0)) == []
    assert found(ALL, asleep(W0), waits(W0, 6.0), gone) == []


def test_a_peer_that_has_ended_is_waited_for_in_vain() -> None:
    gone = TaskExited(at_s=90.0, host="host-a", task=W2, exit_code=0)
    one = only(ALL, gone, in_step(W0), in_step(W1), waits(W0, 6.0), waits(W1, 6.0))
    assert [each.task for each in one.ahead] == [W2]
    assert one.ahead[0].words == "it has ended with exit code 0"
    beside = attempt(TaskId("ps", 0), W0, W2)
    assert found(beside, gone, in_step(W0), waits(W0, 6.0)) == [([], [W0])]


@pytest.mark.parametrize(
    ("for_s", "severity"), [(80.0, Severity.NOTICE), (130.0, Severity.WARNING)]
)
def test_who_is_left_may_say_farewell_for_a_while(for_s: float, severity: Severity) -> None:
    gone = TaskExited(at_s=10.0, host="host-a", task=W2, exit_code=0)
    facts = [attempt(W0, W2), gone, in_step(W0, 200.0), waits(W0, for_s, 200.0)]
    told = [one for one in diagnose(Evidence(facts)).findings if one.name == "keeps-waiting"]
    assert [(one.proof.culprit, one.severity) for one in told] == [(W2, severity)]


def test_where_all_but_one_wait_at_one_line_that_is_the_step() -> None:
    looks = (look(JAX), look(JAX, task=W1), look(OTHER, task=W2))
    told = (waits(W0, 6.0), waits(W1, 6.0), waits(W2, 6.0))
    assert found(ALL, *looks, *told) == [([W2], [W0, W1])]


def test_a_native_wait_beside_a_step_is_something_of_its_own() -> None:
    facts = (ALL, in_step(W0), look(JAX, task=W1), waits(W0, 6.0), waits(W1, 6.0))
    assert found(*facts) == [([W1], [W0])]


def test_a_native_wait_beside_one_that_stands_still_at_its_own_code_is_the_step() -> None:
    facts = (ALL, asleep(W0), look(JAX, task=W1), waits(W1, 6.0))
    assert found(*facts, waits(W0, 6.0)) == [([W0], [W1])]
    assert found(*facts) == [([W1], [])], "nobody says that it stands still"
    other = (look(JAX, task=W2), waits(W0, 6.0), waits(W2, 6.0))
    mixed = found(ALL, asleep(W0), look(OTHER, task=W1), waits(W1, 6.0), *other)
    assert mixed == [([W0], [W1, W2])]


def test_a_vote_without_a_majority_names_all() -> None:
    facts = (ALL, look(JAX), look(OTHER, task=W1), waits(W0, 6.0), waits(W1, 6.0))
    assert found(*facts) == [([W0], []), ([W1], [])]


def test_it_is_judged_as_of_when_the_job_was_stopped() -> None:
    asked = StopAsked(at_s=101.0, host="host-a", by="Ctrl-C", signal=2)
    late = StepsSeen(at_s=190.0, host="host-a", task=W1, step=9, source="log")
    one = only(ALL, asleep(W0), waits(W0, 6.0), asked, late)
    assert one.lasts_s == 7.0


def test_time_in_which_those_ahead_got_no_core_does_not_count() -> None:
    facts = [ALL, in_step(W0), asleep(W2), waits(W0, 50.0), sampled(W2, 0.5)]
    evidence = Evidence(facts)
    (one,) = standstills(evidence)
    assert able_s(evidence, one) == 25.0
    assert able_s(evidence, replace(one, ahead=())) == 50.0


def test_where_nobody_is_ahead_all_who_wait_must_have_been_able_to_run() -> None:
    facts = [ALL, in_step(W0), in_step(W1), waits(W0, 50.0), waits(W1, 50.0)]
    evidence = Evidence([*facts, sampled(W1, 0.5)])
    (one,) = standstills(evidence)
    assert (one.ahead, able_s(evidence, one)) == ((), 25.0)


def test_a_busy_host_makes_nobody_guilty() -> None:
    facts = [ALL, in_step(W0), asleep(W2), waits(W0, 400.0)]
    (calm,) = diagnose(Evidence(facts)).findings
    assert calm.severity is Severity.ERROR
    (starved,) = (
        finding
        for finding in diagnose(Evidence([*facts, sampled(W2, 0.95)])).findings
        if finding.cause.general
    )
    assert starved.severity is Severity.NOTICE


def test_a_child_that_is_stopped_is_an_error_in_seconds() -> None:
    waiting = activity(process("waits-for-child"), process("stopped", pid=8, parent=7), task=W2)
    facts = [ALL, in_step(W0), asleep(W2), waiting]
    (early,) = diagnose(Evidence([*facts, waits(W0, 6.0)])).findings
    assert early.severity is Severity.NOTICE
    (late,) = diagnose(Evidence([*facts, waits(W0, 11.0)])).findings
    assert late.severity is Severity.ERROR
    assert not any("--hang-after-s" in step for step in late.proof.do)


def test_who_is_up_before_one_that_still_builds_does_not_wait_yet() -> None:
    builds = look(thread(TRAIN, "/srv/train.py:12 build: model()", running=True), task=W1)
    assert found(ALL, in_step(W0), builds, waits(W0, 6.0, usual_s=0.0)) == []
    assert found(ALL, in_step(W0), builds, waits(W0, START_S, usual_s=0.0)) == [([W1], [W0])]
    assert found(ALL, in_step(W0), builds, waits(W0, 6.0)) == [([W1], [W0])]


def test_as_long_as_a_server_has_not_opened_its_port_they_wait_for_it() -> None:
    ps = TaskId("ps", 0)
    facts = (attempt(ps, W0, W1), in_step(W0), asleep(W1))
    closed = PathProbed(at_s=90.0, host="host-a", address="a:1", outcome=Outcome.REFUSED, target=ps)
    opened = replace(closed, at_s=95.0, outcome=Outcome.ANSWERED, name="ps:0")
    early = waits(W0, 6.0, usual_s=0.0)
    assert found(*facts, closed, early) == []
    assert found(*facts, closed, opened, early) == found(*facts, early) == [([W1], [W0])]
    assert found(*facts, closed, waits(W0, 6.0)) == [([W1], [W0])], "they trained without it"


def test_who_stood_at_this_line_before_and_went_on_may_do_so_again() -> None:
    before = (asleep(W0, at_s=50.0), waits(W0, 20.0, at_s=60.0, usual_s=0.0), waits(W0, 0.0, 61.0))
    assert found(attempt(W0), *before, asleep(W0), waits(W0, 20.0, usual_s=0.0)) == []
    assert found(attempt(W0), *before, asleep(W0), waits(W0, 30.0, usual_s=0.0)) == [([W0], [])]
    elsewhere = look(thread(*OWN, blocked="waker"))
    assert found(attempt(W0), *before, elsewhere, waits(W0, 20.0, usual_s=0.0)) == [([W0], [])]


def test_who_closes_its_session_waits_for_nobodys_step() -> None:
    close = "site-packages/tensorflow/python/client/session.py:770 BaseSession.close: c.Close(s)"
    closes = look(thread(TRAIN, close, blocked="waker"))
    facts = (attempt(W0, W1), closes, asleep(W1), waits(W0, 6.0, usual_s=0.0))
    assert found(*facts) == []
    assert found(attempt(W0), closes, waits(W0, 60.0, usual_s=0.0)) == [([W0], [])]


def test_a_look_that_could_be_read_counts_more_than_a_later_one_that_could_not() -> None:
    """The host is starved: looks fail, and the time for which it stands is counted anew."""
    blind = look(thread(running=True), task=W1, at_s=99.0)
    told = [waits(W1, 20.0, 60.0), waits(W1, 8.0, 90.0), waits(W0, 40.0)]
    both = [attempt(W0, W1), in_step(W0), in_step(W0, 70.0)]
    words = "it sleeps at train.py:30 in pause"
    assert only(*both, *told, asleep(W1, 70.0), blind).ahead[0].words == words
    assert only(*both, *told, asleep(W1, 95.0), blind).ahead[0].words == words
    went_on = waits(W1, 0.0, 75.0)
    assert only(*both, *told, went_on, asleep(W1, 70.0), blind).ahead[0].words != words
    before = asleep(W1, 30.0)
    assert only(*both, *told, before, blind).ahead[0].words != words
