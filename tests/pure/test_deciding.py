"""What is done about a failure: the least that helps, never more than is allowed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProcessSeen, TaskExited
from holdfast.model.findings import Cause, Confidence, Finding, Proof, Severity
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.remedies import (
    CUT_WAITS_S,
    WAITS_S,
    AskHuman,
    Relaunch,
    Remedy,
    ReplaceHost,
    WaitAndSee,
)
from holdfast.recover import Conclusion
from holdfast.recover.deciding import decide
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
from holdfast.recover.history import SPELL_S, History, history_of
from holdfast.recover.policy import OnFailure, Policy
from holdfast.recover.strategy import Strategy
from holdfast.recover.trouble import Trouble

PS, CHIEF, W0, W1 = TaskId("ps", 0), TaskId("chief", 0), TaskId("worker", 0), TaskId("worker", 1)
EVALUATOR = TaskId("evaluator", 0)
MEMBERS = (PS, CHIEF, W0, W1, EVALUATOR)
DIED = TaskExited(at_s=9, host="host-b", task=W1, signal=9)


def found(remedy: Remedy = Relaunch(), culprit: TaskId | None = W1, **proof: Any) -> Finding:  # noqa: B008
    cause = Cause(family="preempted", remedy=remedy, preview=False)
    says = "worker:1 was killed; by somebody"
    return Finding(
        name="killed-by-signal",
        cause=cause,
        proof=Proof(facts=(DIED,), says=says, culprit=culprit, **proof),
    )


def trouble(*failed: TaskId, **known: Any) -> Trouble:
    usual: dict[str, Any] = {
        "attempt": 1,
        "tasks": MEMBERS,
        "failed": frozenset(failed),
        "training": frozenset({CHIEF, W0, W1}) - set(failed),
        "step": 100,
        "hosts": {CHIEF: "host-a", W0: "host-a", W1: "host-b"},
    }
    return Trouble(**{**usual, **known})


def decided(
    findings: Sequence[Finding],
    stands: Trouble,
    *,
    strategy: Strategy = Strategy.PARAMETER_SERVER,
    history: History = History(),  # noqa: B008 - frozen
    policy: Policy = Policy(),  # noqa: B008 - frozen
) -> Decision:
    return decide(
        findings,
        strategy=strategy,
        trouble=stands,
        conclusion=Conclusion(137, "worker:1 was killed"),
        history=history,
        policy=policy,
    )


EARLIER = RemedyDecided(
    at_s=5,
    host="host-a",
    remedy="relaunch",
    reason="",
    cause="killed-by-signal",
    culprit=W1,
    culprit_host="host-b",
    step=101,
)


def stop(ending: Ending, code: int = 137) -> Stop:
    return Stop(ending, code)


@pytest.mark.parametrize(
    ("finding", "stands", "action"),
    [
        (None, trouble(W1), GoOn(Ending.NO_CAUSE)),
        (None, trouble(W1, training=frozenset()), stop(Ending.NO_CAUSE)),
        (found(), trouble(W1, asked=True), stop(Ending.ASKED)),
        (found(), trouble(W1, trained=True), stop(Ending.TRAINED)),
        (found(severity=Severity.WARNING), trouble(W1), GoOn(Ending.NO_CAUSE)),
        (found(confidence=Confidence.GUESS), trouble(W1), GoOn(Ending.GUESS)),
        (found(confidence=Confidence.GUESS), trouble(W0, W1, CHIEF), stop(Ending.GUESS)),
        (found(confidence=Confidence.LIKELY), trouble(W1), RestartTasks((W1,))),
        (found(AskHuman()), trouble(W1), GoOn(Ending.NO_REMEDY)),
        (found(AskHuman()), trouble(), GoOn(Ending.NO_REMEDY)),
        (found(AskHuman()), trouble(W0, W1, CHIEF), stop(Ending.NO_REMEDY)),
        (found(), trouble(W1), RestartTasks((W1,))),
        (found(), trouble(), RestartTasks((W1,))),
        (found(), trouble(W1, EVALUATOR), RestartTasks((EVALUATOR, W1))),
        (found(), trouble(W1, CHIEF), RelaunchAll()),
        (found(), trouble(W0, W1, CHIEF), RelaunchAll()),
        (found(), trouble(W1, training=frozenset()), RelaunchAll()),
        (found(culprit=None), trouble(W1), RelaunchAll()),
        (found(Relaunch(fresh_ports=True)), trouble(W1), RelaunchAll(fresh_ports=True)),
        (found(culprit=PS), trouble(PS), RelaunchAll()),
        (found(WaitAndSee()), trouble(), Wait()),
        (found(WaitAndSee()), trouble(W1), RestartTasks((W1,))),
        (found(WaitAndSee()), trouble(EVALUATOR), Wait()),
        (found(WaitAndSee()), trouble(CHIEF), RelaunchAll()),
        (found(WaitAndSee()), trouble(training=frozenset()), RelaunchAll()),
        (found(ReplaceHost()), trouble(), Wait()),
        (found(ReplaceHost()), trouble(W1), GoOn(Ending.HOST)),
        (found(ReplaceHost()), trouble(W0, W1, CHIEF), stop(Ending.HOST, 75)),
    ],
)
def test_decisions(finding: Finding | None, stands: Trouble, action: Action) -> None:
    decision = decided([finding] if finding else [], stands)
    assert decision.action == action
    assert decision.reason.startswith("worker:1 was killed")


def test_the_first_error_decides_not_a_warning() -> None:
    warned = found(AskHuman(), severity=Severity.WARNING)
    assert decided([warned, found()], trouble(W1)).action == RestartTasks((W1,))


def test_a_preview_is_reported_and_not_acted_on() -> None:
    finding = found()
    finding = replace(finding, cause=replace(finding.cause, preview=True))
    assert decided([finding], trouble(W1)).action == GoOn(Ending.PREVIEW)
    assert decided([finding], trouble(W0, W1, CHIEF)).action == stop(Ending.PREVIEW)


@pytest.mark.parametrize("step", [99, 101, 103])
def test_the_same_failure_twice_at_the_same_step_stops_the_loop_with_no_wish_to_retry(
    step: int,
) -> None:
    history = History(failures=(EARLIER,), relaunches=1)
    all_gone = trouble(W0, W1, CHIEF, step=step)
    assert decided([found()], all_gone, history=history).action == stop(Ending.LOOP, 1)
    others = trouble(W1, step=step)
    assert decided([found()], others, history=history).action == GoOn(Ending.LOOP)


@pytest.mark.parametrize("step", [-1, 50, 104])
def test_another_step_or_an_unknown_one_is_no_loop(step: int) -> None:
    history = History(failures=(EARLIER, replace(EARLIER, step=-1)), relaunches=1)
    decision = decided([found()], trouble(W1, step=step), history=history)
    assert decision.action == RestartTasks((W1,))


def test_another_culprit_or_cause_is_no_loop() -> None:
    others = (replace(EARLIER, culprit=W0), replace(EARLIER, cause="disk-full"))
    decision = decided([found()], trouble(W1), history=History(failures=others))
    assert decision.action == RestartTasks((W1,))


def test_never_relaunches_beyond_the_budget() -> None:
    for relaunches in range(3):
        decision = decided(
            [found()],
            trouble(W1),
            strategy=Strategy.MIRRORED,
            history=History(relaunches=relaunches),
        )
        assert decision.action == RelaunchAll()
        assert f"(relaunch {relaunches + 1} of 3)" in decision.reason
        assert (decision.wait_s > 0) is (relaunches > 0)
    spent = History(relaunches=3)
    gone = trouble(W0, W1, CHIEF)
    decision = decided([found()], gone, strategy=Strategy.MIRRORED, history=spent)
    assert decision.action == stop(Ending.BUDGET)
    worn = History(relaunches=3, restarts={W1: 3})
    assert decided([found()], trouble(W1), history=worn).action == GoOn(Ending.BUDGET)


def waits(times: int, *, at_s: float = 0.0) -> tuple[RemedyDecided, ...]:
    """So many waits, each as long as it should be, one right after the other."""
    row = []
    for wait_s in WAITS_S[:times]:
        wait = replace(EARLIER, remedy="wait", at_s=at_s, wait_s=wait_s)
        row.append(wait)
        at_s += wait_s
    return tuple(row)


ALL_WAITS = waits(len(WAITS_S))
OVER_S = sum(WAITS_S)


def test_who_hangs_in_what_does_not_go_over_is_ended_when_no_relaunches_are_left() -> None:
    spent = History(relaunches=3, waits=ALL_WAITS)
    finding = found(WaitAndSee(), culprit=PS)
    stands = trouble(at_s=OVER_S)
    assert decided([finding], stands, history=spent).action == stop(Ending.BUDGET)


def test_a_restart_costs_no_relaunch_but_a_task_that_wears_out_its_own_does() -> None:
    spent = History(relaunches=3, restarts={W1: 2})
    decision = decided([found()], trouble(W1), history=spent)
    assert decision.action == RestartTasks((W1,))
    assert decision.wait_s > 0
    worn = History(restarts={W1: 3})
    assert decided([found()], trouble(W1), history=worn).action == RelaunchAll()


@pytest.mark.parametrize(
    ("remedy", "waits_s", "at_last"),
    [
        (WaitAndSee(), WAITS_S, RestartTasks((W1,))),
        (WaitAndSee(waits_s=(5, 10)), (5, 10), RestartTasks((W1,))),
        (ReplaceHost(), CUT_WAITS_S, stop(Ending.HOST, 75)),
    ],
)
def test_what_may_go_over_is_given_more_time_each_time_and_not_for_ever(
    remedy: Remedy, waits_s: tuple[float, ...], at_last: Action
) -> None:
    at_s = 0.0
    for waited, wait_s in enumerate(waits_s):
        decision = decided(
            [found(remedy)], trouble(at_s=at_s), history=History(waits=waits(waited))
        )
        assert (decision.action, decision.wait_s) == (Wait(), wait_s)
        at_s += wait_s
    over = decided([found(remedy)], trouble(at_s=at_s), history=History(waits=waits(len(waits_s))))
    assert over.action == at_last


def test_what_comes_back_much_later_is_given_its_time_again() -> None:
    remedy, history = WaitAndSee(), History(waits=ALL_WAITS)
    soon = trouble(at_s=OVER_S + SPELL_S)
    assert decided([found(remedy)], soon, history=history).action == RestartTasks((W1,))
    for later in (trouble(at_s=OVER_S + SPELL_S + 1), trouble(attempt=2, at_s=OVER_S)):
        decision = decided([found(remedy)], later, history=history)
        assert (decision.action, decision.wait_s) == (Wait(), WAITS_S[0])


def test_what_comes_from_outside_at_the_same_step_is_a_loop_only_in_another_attempt() -> None:
    history = History(failures=(replace(EARLIER, remedy="restart"),), waits=ALL_WAITS)
    stands = trouble(at_s=OVER_S)
    worn = decided([found(WaitAndSee())], stands, history=history)
    assert worn.action == RelaunchAll(), "a restart alone did not help"
    first = decided([found(WaitAndSee())], stands, history=replace(history, waits=()))
    assert first.action == Wait(), "it may go over all the same"
    again = replace(history, waits=tuple(replace(wait, attempt=2) for wait in ALL_WAITS))
    loop = decided([found(WaitAndSee())], trouble(attempt=2, at_s=OVER_S), history=again)
    assert loop.action == stop(Ending.LOOP, 1)


def test_a_proof_may_know_better_than_its_cause_what_helps() -> None:
    held = found(WaitAndSee())
    held = replace(held, proof=replace(held.proof, remedy=AskHuman()))
    assert held.remedy == AskHuman()
    assert decided([held], trouble()).action == GoOn(Ending.NO_REMEDY)


def test_since_when_a_cause_held_is_told_as_far_as_it_was_seen() -> None:
    assert decided([found()], trouble(W1)).since_s == DIED.at_s
    seen = ProcessSeen(at_s=9.0, host="a", task=W1, pid=7, state="T", lasting_s=2.5)
    finding = found(WaitAndSee())
    finding = replace(finding, proof=replace(finding.proof, facts=(seen, DIED)))
    assert decided([finding], trouble()).since_s == 6.5


@pytest.mark.parametrize(
    ("on_failure", "action"),
    [
        (OnFailure.STOP, GoOn(Ending.POLICY)),
        (OnFailure.ASK, Ask(RestartTasks((W1,)))),
        (OnFailure.RECOVER, RestartTasks((W1,))),
    ],
)
def test_a_person_may_forbid_it_or_be_asked(on_failure: OnFailure, action: Action) -> None:
    decision = decided([found()], trouble(W1), policy=Policy(on_failure=on_failure))
    assert decision.action == action


def test_who_said_no_is_not_asked_again() -> None:
    policy = Policy(on_failure=OnFailure.ASK)
    history = History(declined=True)
    gone = trouble(W0, W1, CHIEF)
    assert decided([found()], gone, history=history, policy=policy).action == stop(Ending.DECLINED)
    assert decided([found()], gone, history=history).action == RelaunchAll()


REPLACES = Policy(replaces_hosts=True)
TWICE = History(failures=(replace(EARLIER, step=50),), relaunches=1)


@pytest.mark.parametrize(
    ("remedy", "stands", "history", "policy", "action"),
    [
        (ReplaceHost(), trouble(W1), History(), REPLACES, LeaveHost("host-b")),
        (ReplaceHost(), trouble(W1, hosts={}), History(), REPLACES, GoOn(Ending.HOST)),
        (Relaunch(), trouble(W1), TWICE, REPLACES, LeaveHost("host-b")),
        (Relaunch(), trouble(W1), TWICE, Policy(), RelaunchAll()),
        (Relaunch(), trouble(W1), History(), REPLACES, RelaunchAll()),
        (Relaunch(), trouble(W1, hosts={W1: "host-b"}), TWICE, REPLACES, RelaunchAll()),
    ],
    ids=["gone", "which", "twice", "cannot", "once", "the only host"],
)
def test_a_bad_host_is_left_where_that_can_be(
    remedy: Remedy, stands: Trouble, history: History, policy: Policy, action: Action
) -> None:
    decision = decided(
        [found(remedy)], stands, strategy=Strategy.MIRRORED, history=history, policy=policy
    )
    assert decision.action == action


@given(
    strategy=st.sampled_from(list(Strategy)),
    remedy=st.sampled_from([Relaunch(), Relaunch(fresh_ports=True), WaitAndSee(), ReplaceHost()]),
    relaunches_max=st.integers(0, 5),
    replaces_hosts=st.booleans(),
    deaths=st.lists(
        st.tuples(st.sampled_from(MEMBERS), st.integers(-1, 40)), min_size=200, max_size=200
    ),
)
def test_however_often_tasks_die_it_comes_to_an_end(
    strategy: Strategy,
    remedy: Remedy,
    relaunches_max: int,
    deaths: list[tuple[TaskId, int]],
    *,
    replaces_hosts: bool,
) -> None:
    policy = Policy(relaunches_max=relaunches_max, replaces_hosts=replaces_hosts)
    journal: list[Fact] = []
    attempt, done = 1, 0
    for task, step in deaths:
        stands = trouble(task, attempt=attempt, step=step)
        history = history_of(journal)
        assert history.relaunches <= relaunches_max
        finding = found(remedy, culprit=task)
        decision = decided([finding], stands, strategy=strategy, history=history, policy=policy)
        if isinstance(decision.action, Stop | GoOn):
            break
        journal.append(decision.to_fact(at_s=float(done), host="a", attempt=attempt))
        attempt += not isinstance(decision.action, RestartTasks | Wait)
        done += 1
    assert done <= relaunches_max + policy.restarts_max * len(MEMBERS)
