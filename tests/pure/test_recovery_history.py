"""What a journal tells of a job's failures: the same, whoever reads it."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    PathProbed,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    TimePassed,
)
from holdfast.model.recovery_facts import RemedyAnswered, RemedyDecided
from holdfast.model.watch_facts import LinkSeen, StepsSeen, TaskMoves, TaskStill
from holdfast.recover.by_journal import decide_at_the_end, decide_by_journal
from holdfast.recover.decision import (
    Action,
    Ask,
    Decision,
    Ending,
    GoOn,
    LeaveHost,
    RelaunchAll,
    RestartTasks,
    Stop,
    Wait,
)
from holdfast.recover.fresh import since_restart
from holdfast.recover.history import History, history_of, undone
from holdfast.recover.policy import Policy
from holdfast.recover.trouble import Trouble, trouble_of

STILL: Any = {"still_s": 9.0, "usual_s": 1.0, "sign": "steps", "cpu_share": 0.0}
W0, W1, PS, CHIEF = TaskId("worker", 0), TaskId("worker", 1), TaskId("ps", 0), TaskId("chief", 0)


def fact(
    action: Action,
    *,
    attempt: int = 1,
    at_s: float = 10.0,
) -> RemedyDecided:
    decision = Decision(action=action, reason="why", cause="killed-by-signal", culprit=W1)
    return decision.to_fact(at_s=at_s, host="a", attempt=attempt)


def answered(*, yes: bool) -> RemedyAnswered:
    return RemedyAnswered(at_s=11, host="a", by="somebody", yes=yes)


def began(attempt: int) -> AttemptStarted:
    return AttemptStarted(
        at_s=0,
        host="a",
        attempt=attempt,
        began_unix_s=float(attempt),
        tasks=("ps:0", "worker:0", "worker:1"),
        holdfast="0.1.0",
    )


def started(task: TaskId, at_s: float, attempt: int = 1) -> TaskStarted:
    return TaskStarted(at_s=at_s, host="a", task=task, attempt=attempt, pid=7)


def ended(task: TaskId, at_s: float, code: int | None = None) -> TaskExited:
    number = 9 if code is None else None
    return TaskExited(at_s=at_s, host="a", task=task, exit_code=code, signal=number)


RELAUNCH, RESTART = fact(RelaunchAll()), fact(RestartTasks((W1,)))
ASKED = fact(Ask(LeaveHost("host-b")))


@pytest.mark.parametrize(
    ("facts", "history"),
    [
        ([], History()),
        ([RELAUNCH], History(failures=(RELAUNCH,), relaunches=1)),
        (
            [RELAUNCH, fact(LeaveHost("b"), attempt=2)],
            History(failures=(RELAUNCH, fact(LeaveHost("b"), attempt=2)), relaunches=2),
        ),
        ([RESTART], History(failures=(RESTART,), restarts={W1: 1})),
        ([fact(Wait()), fact(Wait())], History(waits=(fact(Wait()), fact(Wait())))),
        ([fact(Wait()), RESTART], History(failures=(RESTART,), restarts={W1: 1})),
        ([fact(Stop(Ending.BUDGET, 137))], History()),
        ([ASKED], History()),
        ([ASKED, answered(yes=False)], History(declined=True)),
        ([ASKED, answered(yes=False), fact(Stop(Ending.DECLINED, 1))], History()),
        ([fact(GoOn(Ending.BUDGET))], History()),
        ([ASKED, answered(yes=True)], History(failures=(ASKED,), relaunches=1)),
        ([ASKED, RELAUNCH, answered(yes=True)], History(failures=(RELAUNCH,), relaunches=1)),
        ([TimePassed(at_s=1, host="a")], History()),
    ],
)
def test_the_budget_is_what_the_journal_says(facts: list[Fact], history: History) -> None:
    assert history_of(facts) == history


@pytest.mark.parametrize(
    ("facts", "left"),
    [
        ([], None),
        ([began(1), RELAUNCH], RELAUNCH),
        ([RELAUNCH], RELAUNCH),
        ([began(1), RELAUNCH, began(2)], None),
        ([began(1), ASKED], ASKED),
        ([began(1), RESTART, ASKED, answered(yes=False)], None),
        ([fact(GoOn(Ending.BUDGET))], None),
        ([began(1), ASKED, answered(yes=True)], ASKED),
        ([fact(Wait())], None),
        ([started(W1, 1), RESTART], RESTART),
        ([RESTART, started(W1, 11)], None),
        ([RESTART, started(W0, 11), started(W1, 12, attempt=2)], RESTART),
        ([fact(Stop(Ending.BUDGET, 137))], fact(Stop(Ending.BUDGET, 137))),
    ],
)
def test_what_was_decided_and_not_done_is_not_decided_twice(
    facts: list[Fact], left: RemedyDecided | None
) -> None:
    assert undone(facts) == left


def test_who_takes_over_does_what_was_decided_before() -> None:
    decision = decide_by_journal([began(1), RELAUNCH], Policy(relaunches_max=0))
    assert decision.action == RelaunchAll()
    assert decide_by_journal([began(1)], Policy()).action == Stop(Ending.NO_CAUSE, 0)


def test_how_often_a_host_cost_an_attempt_is_counted_once_for_each() -> None:
    first = replace(RELAUNCH, culprit_host="host-b")
    history = History(failures=(first, first, replace(first, attempt=2), RELAUNCH))
    assert history.attempts_lost_by("host-b") == 2


def test_where_a_job_stands_is_told_by_its_newest_attempt() -> None:
    told = SignalSent(at_s=21, host="a", task=W0, signal=15, why="")
    facts: list[Fact] = [
        ended(PS, 5),
        replace(began(2), at_s=10),
        *(replace(started(task, 11), attempt=2, host="b") for task in (PS, W0, W1)),
        StepsSeen(at_s=15, host="a", attempt=2, task=W0, step=40, source="log"),
        StepsSeen(at_s=16, host="a", attempt=2, task=W1, step=30, source="log"),
        replace(ended(W1, 20), attempt=2),
    ]
    stands = trouble_of(facts)
    assert stands == Trouble(
        attempt=2,
        tasks=(PS, W0, W1),
        failed=frozenset({W1}),
        training=frozenset({W0}),
        step=40,
        stepped_s={W0: 15, W1: 16},
        at_s=20,
        hosts={PS: "b", W0: "b", W1: "b"},
        seed=stands.seed,
    )
    again = trouble_of([*facts, replace(started(W1, 25), attempt=2)])
    assert again.failed == frozenset()
    assert again.training == {W0, W1}
    going = trouble_of([*facts, replace(told, attempt=2), replace(ended(W0, 22), attempt=2)])
    assert going.failed == {W1}
    assert going.training == frozenset()
    passed_on = trouble_of([*facts, replace(told, attempt=2, signal=10)])
    assert passed_on.training == {W0}


def test_nobody_fails_who_was_asked_to_go() -> None:
    asked = StopAsked(at_s=8, host="a", by="Ctrl-C", signal=2)
    stands = trouble_of([began(1), started(W0, 1), asked, ended(W0, 9)])
    assert (stands.asked, stands.failed, stands.training) == (True, frozenset(), frozenset())


def test_a_task_that_could_not_be_started_has_failed() -> None:
    refused = TaskNotStarted(at_s=1, host="a", task=W0, command="x", errno_name="ENOENT")
    assert trouble_of([refused]).failed == {W0}
    assert trouble_of([]) == replace(trouble_of([refused]), failed=frozenset(), at_s=0.0)


@pytest.mark.parametrize(
    ("tasks", "well", "trained"),
    [
        ((), (), False),
        ((PS,), (PS,), False),
        ((PS, CHIEF, W0), (CHIEF,), True),
        ((PS, CHIEF, W0), (W0,), False),
        ((PS, W0, W1), (W0,), True),
        ((PS, W0, W1), (W1,), False),
        ((W0, W1), (W0,), False),
        ((W0, W1), (W0, W1), True),
    ],
)
def test_the_training_is_over_when_its_chief_or_all_workers_ended_well(
    tasks: tuple[TaskId, ...], well: tuple[TaskId, ...], *, trained: bool
) -> None:
    facts: list[Fact] = [replace(began(1), tasks=tuple(map(str, tasks)))]
    facts += [ended(task, 9, 0) for task in well]
    assert trouble_of(facts).trained is trained


def test_different_jobs_wait_differently() -> None:
    assert trouble_of([began(1)]).seed != trouble_of([began(2)]).seed


def test_an_end_that_was_answered_by_a_restart_accuses_nobody_again() -> None:
    def line(task: TaskId | None, at_s: float) -> LogLine:
        return LogLine(at_s=at_s, host="a", task=task, text="reset by peer")

    kept: list[Fact] = [began(1), started(W0, 1), started(W1, 1), ended(PS, 2), line(PS, 2)]
    answered_by: list[Fact] = [ended(W1, 3), line(W1, 3), line(W0, 4)]
    later: list[Fact] = [started(W1, 5), line(W0, 6), ended(W1, 7)]
    assert list(since_restart([*kept, *answered_by, *later])) == [*kept, *later]
    alive = later[:2]
    assert list(since_restart([*kept, *answered_by, *alive])) == [*kept, *alive]
    assert list(since_restart(kept)) == kept
    older = replace(line(W0, 1), attempt=0)
    assert list(since_restart([older, *kept])) == [older, *kept]
    assert list(since_restart([])) == []


def test_what_was_seen_of_a_process_says_nothing_of_the_next_one() -> None:
    def looks(at_s: float) -> list[Fact]:
        answer = PathProbed(
            at_s=at_s, host="a", target=W1, address="a:1", outcome="answered", incarnation=7
        )
        return [
            answer,
            replace(answer, target=W0),
            TaskStill(at_s=at_s, host="a", task=W1, **STILL),
        ]

    facts = [began(1), started(W0, 1), started(W1, 1), *looks(2), ended(W1, 3), started(W1, 5)]
    kept = [began(1), started(W0, 1), started(W1, 1), looks(2)[1], started(W1, 5)]
    assert list(since_restart([*facts, *looks(6)])) == [*kept, *looks(6)]


def test_what_was_only_told_costs_nothing_and_is_not_to_be_done() -> None:
    told = replace(fact(RelaunchAll()), dry_run=True)
    assert history_of([began(1), told]) == History()
    assert undone([began(1), told]) is None


KILLED = [
    replace(began(1), tasks=("worker:0", "worker:1")),
    *(started(W0, 1), started(W1, 1), ended(W0, 8, 0), ended(W1, 9)),
]


def test_at_the_end_what_was_decided_before_is_done() -> None:
    left = decide_at_the_end([*KILLED, fact(RelaunchAll())], Policy())
    assert left.action == RelaunchAll()
    fresh = decide_at_the_end(KILLED, Policy())
    assert (fresh.action, fresh.cause) == (RelaunchAll(), "killed-by-signal")


def test_a_restart_that_came_too_late_is_decided_about_anew() -> None:
    late = decide_at_the_end([*KILLED, fact(RestartTasks((W1,)))], Policy())
    assert late.action == RelaunchAll()


def test_whoever_asks_for_the_end_while_a_relaunch_waits_gets_it() -> None:
    asked = StopAsked(at_s=12, host="a", by="Ctrl-C", signal=2)
    stop = decide_at_the_end([*KILLED, fact(RelaunchAll()), asked], Policy())
    assert stop.action == Stop(Ending.ASKED, 130)
    assert stop.reason == "stopped by Ctrl-C"


def stepped(task: TaskId, at_s: float, step: int) -> StepsSeen:
    return StepsSeen(at_s=at_s, host="a", task=task, step=step, source="log")


def test_who_stands_still_and_who_has_gone_on_is_known_of_each_task() -> None:
    still = [TaskStill(at_s=20, host="a", task=task, **STILL) for task in (W0, W1, PS)]
    facts = [began(1), stepped(W0, 9, 5), stepped(W0, 12, 5), *still]
    assert trouble_of(facts).stepped_s == {W0: 9}, "the same step again is none"
    assert trouble_of(facts).still == {W0, W1, PS}
    moves = TaskMoves(at_s=21, host="a", task=W1, still_s=9.0)
    later = trouble_of([*facts, stepped(W0, 22, 6), moves, started(PS, 23)], at_s=30)
    assert (later.still, later.stepped_s, later.at_s) == (frozenset(), {W0: 22}, 30)


def test_a_job_is_doomed_by_those_whom_the_others_need() -> None:
    with_ps = [began(1), *(started(task, 1) for task in (PS, W0, W1))]
    assert not trouble_of([*with_ps, ended(W1, 5)]).doomed
    assert trouble_of([*with_ps, ended(PS, 5)]).doomed
    assert trouble_of([*with_ps, ended(W0, 5)]).doomed, "it leads, where there is no chief"


def test_what_was_sent_to_a_process_and_its_links_say_nothing_of_the_next_one() -> None:
    sent = SignalSent(at_s=2, host="a", task=W1, signal=15, why="it hangs")
    link = LinkSeen(at_s=2, host="a", task=W0, peer=W1, address="a:1", send_bytes=9)
    facts: list[Fact] = [began(1), started(W0, 1), started(W1, 1), sent, link, ended(W1, 3)]
    assert list(since_restart(facts)) == facts
    other = replace(sent, task=W0, signal=10)
    again = [*facts, other, started(W1, 5)]
    assert list(since_restart(again)) == [*facts[:3], other, started(W1, 5)]


def test_how_far_an_attempt_had_come_counts_although_it_was_told_late() -> None:
    relaunch = RemedyDecided(at_s=50.0, host="a", remedy="relaunch", reason="why", cause="x")
    worker = TaskId("worker", 1)
    late = [
        StepsSeen(at_s=49.9, host="a", task=worker, step=step, source="log") for step in (50, 44)
    ]
    assert history_of([relaunch, *late]).same("x", None, 50)
    assert not history_of([relaunch, *late]).same("x", None, 44)
    next_attempt = [replace(fact, attempt=2) for fact in late]
    assert not history_of([relaunch, *next_attempt]).same("x", None, 50)
