"""In which call of its start a task stands, and since when: by its stacks, and by nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.diagnose.healthy import got_on
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, SignalSent, TaskExited, TaskStarted
from holdfast.model.start_calls import StartCall, standing_at_start, start_call
from holdfast.model.wait import Wait
from holdfast.model.waiting import waits_in
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskMoves, ThreadStack

A, PS = TaskId("worker", 0), TaskId("ps", 0)
TF = "site-packages/tensorflow/python"
OWN = "/home/user/train.py:19 <module>: with Session() as session:"
CALLED = f"{TF}/training/monitored_session.py:610 MonitoredTrainingSession: return Monitored("
OPENS = f"{TF}/client/session.py:1430 BaseSession._extend_graph: tf_session.ExtendSession(s)"
POLLS = f"{TF}/training/session_manager.py:478 SessionManager.wait_for_session: time.sleep(30)"
JOINS = f"{TF}/eager/context.py:745 Context.ensure_initialized: pywrap_tfe.TFE_EnableCollectiveOps("
STEP = f"{TF}/client/session.py:1483 BaseSession._call_tf_sessionrun: tf_session.TF_SessionRun("


def look(*frames: str, at_s: float = 10.0, blocked: str = "waker", pid: int = 7) -> StacksSeen:
    main = ThreadStack(thread=pid, name="MainThread", frames=frames, blocked=blocked)
    return StacksSeen(at_s=at_s, host="h", task=A, pid=pid, threads=(main,), why="")


@pytest.mark.parametrize(
    ("seen", "call"),
    [
        (look(OWN, OPENS), StartCall.OPENS_SESSION),
        (look(OWN, POLLS, blocked="timer"), StartCall.AWAITS_CHIEF),
        (look(OWN, POLLS, STEP), StartCall.AWAITS_CHIEF),
        (look(OWN, JOINS, blocked="timer"), StartCall.JOINS),
        (look(OWN, STEP), None),  # a first step may take long
        (look(OWN, OPENS, blocked=""), None),  # it computes there
        (look("/home/user/mine.py:3 f: ExtendSession(s)"), None),
        (look(), None),
    ],
)
def test_which_call_it_is(seen: StacksSeen, call: StartCall | None) -> None:
    assert start_call(seen) is call


def standing(*facts: Fact) -> list[tuple[StartCall, float, bool]]:
    began = AttemptStarted(
        at_s=0, host="h", began_unix_s=0, tasks=("worker:0",), holdfast="", start_deadline_s=60
    )
    started = TaskStarted(at_s=1, host="h", task=A, pid=7)
    evidence = Evidence((began, started, *facts))
    return [(one.call, one.lasts_s, one.overdue) for one in standing_at_start(evidence)]


def test_it_stands_there_since_the_first_of_unbroken_looks() -> None:
    first, last = look(OWN, OPENS), look(OWN, OPENS, at_s=30)
    assert standing(first, last) == [(StartCall.OPENS_SESSION, 20.0, False)]
    assert standing(replace(first, pid=6), last) == [(StartCall.OPENS_SESSION, 0.0, False)]
    assert standing(first, look(OWN, STEP, at_s=20), last) == [
        (StartCall.OPENS_SESSION, 0.0, False)
    ]
    assert standing(first, look(OWN, STEP, at_s=20)) == []


def test_who_polls_opens_its_session_each_time() -> None:
    looks = look(OWN, POLLS, blocked="timer"), look(OWN, OPENS, at_s=40)
    assert standing(*looks) == [(StartCall.AWAITS_CHIEF, 30.0, False)]


def test_it_is_overdue_after_the_deadline_if_it_has_stood_there_for_long() -> None:
    late = look(OWN, OPENS, at_s=70)
    assert standing(look(OWN, OPENS), late) == [(StartCall.OPENS_SESSION, 60.0, True)]
    assert standing(look(OWN, OPENS, at_s=50), late) == [(StartCall.OPENS_SESSION, 20.0, False)]


def test_who_has_made_a_step_or_moved_on_stands_no_more() -> None:
    first = look(OWN, OPENS)
    where: dict[str, Any] = {"host": "h", "task": A}
    assert standing(first, StepsSeen(at_s=20, step=3, source="log", **where)) == []
    restored = StepsSeen(at_s=20, step=3, source="checkpoint", **where)
    assert len(standing(first, restored)) == 1
    soon = TaskMoves(at_s=20, still_s=5, **where)
    assert len(standing(first, soon)) == 1
    assert standing(first, replace(soon, at_s=120)) == []


def test_who_has_ended_by_itself_stands_nowhere() -> None:
    first = look(OWN, OPENS)
    ended = TaskExited(at_s=20, host="h", task=A, exit_code=1)
    assert standing(first, ended) == []
    sent = SignalSent(at_s=19, host="h", task=A, signal=15, why="")
    assert standing(first, sent, ended) == [(StartCall.OPENS_SESSION, 9.0, False)]


def test_who_was_ended_while_it_stood_there_did_not_get_on() -> None:
    sent = SignalSent(at_s=19, host="h", task=A, signal=15, why="")
    ended = TaskExited(at_s=20, host="h", task=A, signal=15)
    assert not got_on(Evidence([look(OWN, OPENS), sent, ended]), A)
    assert got_on(Evidence([look(OWN, STEP), sent, ended]), A)


@pytest.mark.parametrize(
    ("frames", "where", "own_line"),
    [
        ((OWN, CALLED, OPENS), "in MonitoredTrainingSession (train.py:19)", "train.py:19"),
        ((OWN, f"{TF}/s.py:2 Session.__init__: go()", OPENS), "in Session (train.py:19)", None),
        ((OPENS,), "in _extend_graph (session.py:1430)", ""),
    ],
)
def test_where_it_stands_is_said_by_the_call_of_the_program(
    frames: tuple[str, ...], where: str, own_line: str | None
) -> None:
    (one,) = standing_at_start(Evidence([look(*frames)]))
    assert one.where == where
    assert own_line is None or one.own_line == own_line


def test_beside_parameter_servers_the_first_of_them_is_waited_for() -> None:
    server = TaskStarted(at_s=1, host="h", task=PS, pid=5)
    joins = look(OWN, JOINS)
    assert waits_in(Evidence([server, joins])) == (
        Wait(
            waiter=A,
            awaited=PS,
            why="it waits in ensure_initialized (train.py:19) to be let in",
            fact=joins,
        ),
    )
    assert waits_in(Evidence([joins])) == ()
    assert waits_in(Evidence([server, look(OWN, OPENS)])) == ()
