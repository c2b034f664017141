"""A cause that says why takes the place of the general finding; and who is well."""

from dataclasses import replace
from typing import Any

from tests.pure.stillness import W0, W1, W2, asleep, attempt, in_step, waits
from tests.pure.test_standstill import sampled

from holdfast.diagnose import diagnose
from holdfast.diagnose.explained import without_explained
from holdfast.diagnose.healthy import got_on, healthy_tasks
from holdfast.diagnose.waits import waits_for
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptEnded,
    Fact,
    PathProbed,
    SignalSent,
    StartWaits,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.findings import (
    HUNG_CODE,
    Cause,
    Confidence,
    Diagnosis,
    Finding,
    Proof,
    Severity,
    Verdict,
)
from holdfast.model.path import Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import HostSampled, StepsSeen, TaskSampled, TaskStill

PS = TaskId("ps", 0)
FACTS: list[Fact] = [attempt(W0, W1, W2), in_step(W0), asleep(W2), waits(W0, 6.0)]
WHY = Cause(family="task-stalled", detect=lambda _: iter(()), remedy=AskHuman())


def special(
    culprit: TaskId | None,
    severity: Severity = Severity.NOTICE,
    confidence: Confidence = Confidence.HIGH,
    *,
    about: TaskId = W2,
    echo: bool = False,
    exit_code: int = HUNG_CODE,
) -> Finding:
    cause = WHY if not echo else Cause(family="x", detect=WHY.detect, remedy=AskHuman(), echo=True)
    proof = Proof(
        facts=(asleep(about),),
        culprit=culprit,
        confidence=confidence,
        severity=severity,
        says="why",
        do=("this",),
        exit_code=exit_code,
    )
    return Finding(name="why", cause=cause, proof=proof)


def left(*others: Finding, facts: list[Fact] = FACTS) -> list[str]:
    evidence = Evidence(facts)
    general = [finding for finding in diagnose(evidence).findings if finding.cause.general]
    proven = [*general, *others]
    kept = without_explained(proven, waits_for(evidence, proven), evidence)
    return [finding.name for finding in kept]


def test_what_says_why_takes_its_place() -> None:
    assert left() == ["keeps-waiting"]
    assert left(special(W2)) == ["why"]
    assert left(special(None)) == ["why"], "its proof is about the same task"


def test_what_is_about_another_task_does_not() -> None:
    assert left(special(W1)) == ["keeps-waiting", "why"]
    assert left(special(None, about=W1)) == ["keeps-waiting", "why"]


def test_what_is_only_likely_or_less_grave_does_not() -> None:
    assert left(special(W2, confidence=Confidence.LIKELY)) == ["keeps-waiting", "why"]
    assert left(special(W2, Severity.INFO)) == ["keeps-waiting", "why"]
    assert left(special(W2, Severity.ERROR, echo=True)) == ["keeps-waiting", "why"]


def test_what_says_only_that_it_is_slow_does_not() -> None:
    assert left(special(W2, Severity.WARNING, exit_code=1)) == ["keeps-waiting", "why"]
    assert left(special(W2, Severity.ERROR, exit_code=1)) == ["why"]


def test_an_error_of_another_explains_all_that_wait_for_it() -> None:
    dead = TaskExited(at_s=99.0, host="host-a", task=W1, signal=9)
    assert left(special(W1, Severity.ERROR), facts=[*FACTS, dead]) == ["why"]
    assert left(special(W1, Severity.ERROR)) == ["keeps-waiting", "why"]


def test_who_stood_at_its_own_code_before_another_failed_is_still_told() -> None:
    stood = [attempt(W0, W1, W2), asleep(W2), waits(W2, 9.0)]
    dead = TaskExited(at_s=95.0, host="host-a", task=W1, signal=6)
    crash = special(W1, Severity.ERROR)
    assert left(crash, facts=[*stood, dead]) == ["keeps-waiting", "why"]
    assert left(crash, facts=[*stood, replace(dead, at_s=90.0)]) == ["why"], "maybe for want of it"
    in_its_step = [attempt(W0, W1, W2), in_step(W2), waits(W2, 9.0)]
    assert left(crash, facts=[*in_its_step, dead]) == ["why"]
    steps = TaskStill(
        at_s=99.0, host="host-a", task=W2, still_s=9.0, usual_s=1.0, sign="steps", cpu_share=0.0
    )
    own = [attempt(W0, W1, W2), asleep(W2, at_s=98.0), steps]
    assert left(crash, facts=[*own, dead]) == ["keeps-waiting", "why"]


def test_who_waits_while_nobody_is_ahead_waits_for_the_one_that_an_error_names() -> None:
    wait = [attempt(W0, W1), in_step(W0), waits(W0, 20.0)]
    assert left(facts=wait) == ["keeps-waiting"]
    assert left(special(W1, Severity.ERROR), facts=wait) == ["why"]
    assert left(special(None, Severity.ERROR, about=W1), facts=wait) == ["keeps-waiting", "why"]
    assert left(special(W1, Severity.WARNING), facts=wait) == ["keeps-waiting", "why"]


def step(task: TaskId, source: str = "log") -> StepsSeen:
    return StepsSeen(at_s=10.0, host="host-a", task=task, step=5, source=source)


def run(*facts: Fact, tasks: tuple[TaskId, ...] = (W0, W1)) -> Evidence:
    """One that was stopped while it ran."""
    started = [TaskStarted(at_s=0.0, host="host-a", task=task, pid=7) for task in tasks]
    exits = [TaskExited(at_s=21.0, host="host-a", task=task, signal=15) for task in tasks]
    sent = [
        SignalSent(at_s=20.0, host="host-a", task=task, signal=15, why="stopped by Ctrl-C")
        for task in tasks
    ]
    asked = StopAsked(at_s=20.0, host="host-a", by="Ctrl-C", signal=2)
    ended = AttemptEnded(at_s=22.0, host="host-a", exit_code=130, why="stopped by Ctrl-C")
    return Evidence([attempt(*tasks), *started, *facts, asked, *sent, *exits, ended])


def test_a_job_that_was_stopped_is_healthy_only_where_somebody_was_seen_to_get_on() -> None:
    unseen = diagnose(run())
    assert (unseen.verdict, unseen.healthy) == (Verdict.CANNOT_TELL, ())
    assert unseen.unknown == (
        "how worker:0 fared: nothing shows that it got on",
        "how worker:1 fared: nothing shows that it got on",
    )
    half = diagnose(run(step(W0)))
    assert (half.verdict, half.healthy) == (Verdict.HEALTHY, (W0,))
    assert half.unknown == ("how worker:1 fared: nothing shows that it got on",)


def test_a_job_that_was_stopped_while_it_stood_still_is_not_healthy() -> None:
    stood = diagnose(
        run(step(W0), step(W1), in_step(W0, 19.0), asleep(W1, 19.0), waits(W0, 8.0, 19.0))
    )
    assert (stood.verdict, stood.healthy) == (Verdict.CANNOT_TELL, ())
    assert [finding.proof.says for finding in stood.findings] == [
        "worker:0 waits for worker:1 since 8 s: it sleeps at train.py:30 in pause"
    ]


def test_a_step_or_work_on_a_core_is_a_proof() -> None:
    assert got_on(run(step(W0)), W0)
    assert not got_on(run(step(W0, source="checkpoint")), W0), "it may be an old one"
    assert not got_on(run(sampled(W0, 0.0, at_s=9.0)), W0), "it used no core"


def test_what_little_a_starved_task_did_is_no_proof_and_its_warning_no_answer() -> None:
    facts = [replace(sampled(W0, share, at_s=9.0), cpu_share=0.02) for share in (0.5, 0.98)]
    assert got_on(run(facts[0]), W0)
    assert not got_on(run(facts[1]), W0)
    others = HostSampled(
        at_s=9.0,
        host="host-a",
        over_s=10.0,
        cpus=2,
        busy_share=1.0,
        memory_bytes=1 << 34,
        memory_free_bytes=1 << 33,
        others={"x": 1.9},
    )
    starved = [replace(facts[1], at_s=at_s) for at_s in (9.0, 19.0)]
    told = diagnose(run(*starved, others, tasks=(W0,)))
    assert [finding.name for finding in told.findings] == ["cpu-starved"]
    assert told.verdict is Verdict.CANNOT_TELL
    assert told.unknown == ("how worker:0 fared: nothing shows that it got on",)


def test_a_server_is_well_when_it_was_looked_at() -> None:
    assert not got_on(run(tasks=(PS, W0)), PS)
    assert got_on(run(sampled(PS, 0.0, at_s=9.0), tasks=(PS, W0)), PS)
    probed = PathProbed(at_s=5.0, host="host-a", address="127.0.0.1:9", outcome="ok")
    assert got_on(run(probed, tasks=(PS, W0)), PS)


def test_exit_code_0_is_a_proof_and_so_is_the_end_of_the_job() -> None:
    started = [TaskStarted(at_s=0.0, host="host-a", task=task, pid=7) for task in (PS, W0)]
    done = TaskExited(at_s=20.0, host="host-a", task=W0, exit_code=0)
    sent = SignalSent(at_s=20.5, host="host-a", task=PS, signal=15, why="the job is done")
    gone = TaskExited(at_s=21.0, host="host-a", task=PS, signal=15)
    evidence = Evidence([attempt(PS, W0), *started, done, sent, gone])
    assert (got_on(evidence, W0), got_on(evidence, PS)) == (True, True)


def test_who_was_never_started_is_not_among_the_healthy() -> None:
    absent = TaskNotStarted(at_s=1.0, host="host-a", task=W1, command="python", errno_name="ENOENT")
    assert healthy_tasks(run(step(W0), absent), ()) == (W0,)


def test_a_job_that_was_stopped_while_its_start_waited_is_not_healthy() -> None:
    waits_at_start = StartWaits(
        at_s=8.0,
        host="host-a",
        missing=("worker:1",),
        waiting=("worker:0",),
        says="worker:0 waits for worker:1",
    )
    used = TaskSampled(
        at_s=12.0, host="host-a", task=W1, pid=7, state="R", over_s=10.0, cpu_share=1.0
    )
    blocked = diagnose(run(waits_at_start, used))
    assert (blocked.verdict, blocked.healthy) == (Verdict.CANNOT_TELL, ())
    assert blocked.unknown == (
        "how it would have gone on: it was stopped at its start, when worker:0 waits for worker:1",
    )
    assert diagnose(run(waits_at_start, step(W0), step(W1))).verdict is Verdict.HEALTHY
    over = replace(waits_at_start, at_s=9.0, missing=())
    assert diagnose(run(waits_at_start, over, used)).verdict is Verdict.HEALTHY


def probed(target: TaskId, outcome: Outcome, at_s: float = 15.0) -> PathProbed:
    name = str(target) if outcome is Outcome.ANSWERED else ""
    return PathProbed(
        at_s=at_s, host="host-a", address=f"a:{target}", outcome=outcome, target=target, name=name
    )


def test_a_job_that_was_stopped_while_half_of_its_servers_were_up_is_not_healthy() -> None:
    up, closed = probed(W0, Outcome.ANSWERED), probed(W1, Outcome.REFUSED)
    used = replace(sampled(W0, 0.0, at_s=12.0), cpu_share=1.0)
    half = diagnose(run(used, up, closed))
    assert (half.verdict, half.healthy) == (Verdict.CANNOT_TELL, ())
    (words,) = half.unknown
    assert words.endswith("stopped at its start, when worker:1 had not opened its port yet")
    both = run(used, up, closed, probed(W2, Outcome.REFUSED), tasks=(W0, W1, W2))
    assert (
        diagnose(both).unknown[0].endswith("worker:1 and worker:2 had not opened their ports yet")
    )
    well = ((used, up, closed, step(W0)), (used, up, probed(W1, Outcome.ANSWERED)), (used, closed))
    for facts in well:
        assert diagnose(run(*facts)).verdict is Verdict.HEALTHY


def test_who_did_nothing_any_more_when_it_was_stopped_is_not_called_healthy() -> None:
    def stopped(*shares: float, step_s: float = 5.0) -> Diagnosis:
        samples = [
            replace(sampled(W0, 0.0, at_s=10.0 * at), cpu_share=share)
            for at, share in enumerate(shares, 1)
        ]
        end_s = samples[-1].at_s + 1.0
        return diagnose(
            Evidence(
                [
                    attempt(W0),
                    TaskStarted(at_s=0.0, host="host-a", task=W0, pid=7),
                    replace(step(W0), at_s=step_s),
                    *samples,
                    StopAsked(at_s=end_s, host="host-a", by="Ctrl-C", signal=2),
                    TaskExited(at_s=end_s + 1.0, host="host-a", task=W0, signal=2),
                ]
            )
        )

    idle = stopped(0.3, 0.2, 0.3, 0.0)
    assert (idle.verdict, idle.healthy) == (Verdict.CANNOT_TELL, ())
    assert idle.unknown == ("how worker:0 fared: it did nothing any more when it was stopped",)
    light, late = stopped(0.01, 0.01, 0.01, 0.005), stopped(0.3, 0.2, 0.3, 0.0, step_s=35.0)
    early = stopped(0.3, 0.0)
    assert {one.verdict for one in (light, late, early)} == {Verdict.HEALTHY}


def test_who_just_kept_others_waiting_when_it_was_stopped_is_not_called_healthy() -> None:
    where: Any = {"host": "host-a", "task": W0, "cause": "keeps-waiting", "severity": "notice"}
    told = FindingTold(at_s=12.0, says="worker:1 waits", confidence="high", **where)
    back = FindingTakenBack(at_s=15.0, says="worker:1 waits", why="", held_s=3.0, **where)
    verdicts = {
        "just": (told, back),
        "long ago": (replace(told, at_s=2.0), replace(back, at_s=5.0)),
        "it stepped": (told, back, replace(step(W0), at_s=18.0)),
        "of another kind": (replace(told, cause="straggler"), replace(back, cause="straggler")),
    }
    found = {
        name: diagnose(run(step(W0), step(W1), *facts)).verdict for name, facts in verdicts.items()
    }
    assert found.pop("just") is Verdict.CANNOT_TELL
    assert set(found.values()) == {Verdict.HEALTHY}
    assert W0 not in diagnose(run(step(W0), step(W1), told, back)).healthy
