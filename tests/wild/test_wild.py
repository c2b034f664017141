"""Wild jobs: a seed always means the same job, and the judge knows right from wrong."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # the jobs are in bench/
from bench.wild.composing import INTERRUPTED, PLAIN, Job, compose
from bench.wild.grammar import PROGRAMS, WAYS, Kind
from bench.wild.judging import TAKEN_BACK, Row, Said, judge
from bench.wild.truth import Note, Truth, truth_of

MANY = range(3000)
STILL = Job(
    seed=1,
    program="mirrored",
    roles=(("worker", 3),),
    kind=Kind.STANDS_STILL,
    way="sleeps",
    chosen="worker:1",
    where="loop",
    phase="middle",
    at_step=10,
    pause_s=0.0,
    steps=1000,
    pace_s=0.1,
    uneven=False,
    computes=False,
    words="",
    evaluate_every=0,
    load="none",
)
DEADLOCK = replace(STILL, way="two-locks")
DEAD = replace(STILL, kind=Kind.DIES, way="killed-by-sigkill")
HEALTHY = replace(STILL, kind=Kind.PAUSES, way="first-evaluation", pause_s=9.0)
TRUTH = Truth(fault_s=100.0, go_on_s=101.0, waiting=("worker:0", "worker:2"))


def said(
    severity: str, *culprits: str, at_s: float = 104.0, cause: str = "keeps-waiting", what: str = ""
) -> Said:
    told = {"what": what} if what else {}
    return Said(at_s=at_s, severity=severity, cause=cause, culprits=culprits, **told)


def finding(
    severity: str, culprit: str | None, cause: str = "keeps-waiting", says: str = ""
) -> dict[str, Any]:
    return {"severity": severity, "culprit": culprit, "cause": cause, "says": says}


def judged(
    job: Job,
    words: list[Said],
    findings: list[dict[str, Any]],
    verdict: str = "sick",
    exit_code: int = 130,
) -> Row:
    report = {"verdict": verdict, "findings": findings}
    return judge(job, TRUTH, words, report, exit_code=exit_code, took_s=1.0)


def test_a_seed_always_means_the_same_job() -> None:
    assert [compose(seed) for seed in range(200)] == [compose(seed) for seed in range(200)]


def test_every_program_and_every_way_is_drawn() -> None:
    jobs = [compose(seed) for seed in range(12_000)]
    assert {job.program for job in jobs} == set(PROGRAMS)
    drawn = {(job.kind, job.way) for job in jobs}
    known = {(kind, way) for kind, ways in WAYS.items() for way in ways}
    assert known - drawn == set()
    assert drawn - known == {(Kind.PAUSES, PLAIN), (Kind.PAUSES, INTERRUPTED)}


def test_a_third_is_healthy_and_half_stands_still() -> None:
    kinds = [compose(seed).kind for seed in MANY]
    assert 0.26 < kinds.count(Kind.PAUSES) / len(kinds) < 0.34
    assert 0.46 < kinds.count(Kind.STANDS_STILL) / len(kinds) < 0.54


def test_nobody_leaves_with_0_where_that_may_be_right() -> None:
    leaving = [job for job in map(compose, MANY) if job.way == "leaves-with-0"]
    assert leaving
    assert all(PROGRAMS[job.program].lockstep and len(job.tasks) > 1 for job in leaving)
    assert "end" not in {job.phase for job in leaving}


def test_a_server_in_mid_run_only_does_what_its_other_threads_can() -> None:
    for job in map(compose, MANY):
        serves = job.chosen.partition(":")[0] in PROGRAMS[job.program].serving
        if serves and job.is_faulty and job.phase != "start":
            assert WAYS[job.kind][job.way].by_thread, job.line


def test_the_others_could_go_on_once_the_first_of_them_waits() -> None:
    notes = {
        "worker:0": [Note("done", 9, 99.0), Note("enter", 10, 101.5)],
        "worker:1": [Note("done", 9, 99.0), Note("fault", 10, 100.0)],
        "worker:2": [Note("done", 9, 99.0), Note("enter", 10, 101.0)],
    }
    assert truth_of(STILL, notes, until_s=120.0) == TRUTH


def test_who_waited_before_the_fault_could_go_on_at_the_fault() -> None:
    notes = {"worker:0": [Note("enter", 10, 99.5)], "worker:1": [Note("fault", 10, 100.0)]}
    found = truth_of(STILL, notes, until_s=120.0)
    assert found
    assert found.go_on_s == 100.0


def test_a_task_alone_could_go_on_after_a_usual_step() -> None:
    steps = [Note("done", step, 90.0 + 2 * step) for step in range(1, 5)]
    found = truth_of(STILL, {"worker:1": [*steps, Note("fault", 5, 100.0)]}, until_s=120.0)
    assert found == Truth(fault_s=100.0, go_on_s=102.0)


def test_without_a_note_of_the_fault_there_is_no_truth() -> None:
    assert truth_of(STILL, {"worker:1": [Note("enter", 1, 90.0)]}, until_s=120.0) is None


def test_who_is_asynchronous_waits_only_if_it_lasts() -> None:
    job = replace(STILL, program="session", roles=(("ps", 1), ("worker", 2)))
    notes = {"worker:0": [Note("enter", 10, 119.9)], "worker:1": [Note("fault", 10, 100.0)]}
    going_on = truth_of(job, notes, until_s=120.0)
    stuck = truth_of(job, notes, until_s=130.0)
    assert going_on
    assert stuck
    assert (going_on.waiting, stuck.waiting) == ((), ("worker:0",))


def test_the_right_notice_and_the_right_report_are_right() -> None:
    row = judged(STILL, [said("notice", "worker:1")], [finding("notice", "worker:1")])
    assert (row.first_right, row.report_right, row.notice_s) == (True, True, 3.0)
    assert row.is_fine


def test_a_notice_about_another_task_is_a_wrong_culprit_and_no_accusation() -> None:
    words = [said("notice", "worker:0"), said("notice", "worker:1", at_s=106.0)]
    row = judged(STILL, words, [finding("notice", "worker:1")])
    assert (row.first_right, row.notice_s, row.wrong, row.silent) == (False, 5.0, [], "")


def test_two_notices_at_once_are_right_only_if_both_are() -> None:
    words = [said("notice", "worker:1"), said("notice", "worker:0", at_s=104.01)]
    assert judged(STILL, words, [finding("notice", "worker:1")]).first_right is False


def test_a_warning_about_the_machine_is_no_notice() -> None:
    words = [said("warning", "worker:0", at_s=102, cause="cpu-starved"), said("notice", "worker:1")]
    findings = [finding("warning", "worker:0", "cpu-starved"), finding("notice", "worker:1")]
    assert judged(STILL, words, findings).is_fine


def test_what_was_told_before_the_fault_and_holds_counts_at_once() -> None:
    early = said("notice", "worker:1", at_s=95.0)
    row = judged(STILL, [early], [finding("notice", "worker:1")])
    assert (row.first_right, row.notice_s) == (True, 0.0)
    back = said("notice", "worker:1", at_s=97.0, what=TAKEN_BACK)
    assert judged(STILL, [early, back], [finding("notice", "worker:1")]).silent


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ([], "sick"),
        ([said("notice", "worker:0")], "sick"),
        ([said("notice", "worker:1", at_s=140.0)], "sick"),
        ([said("notice", "worker:1")], "healthy"),
    ],
)
def test_a_fault_is_silent_if_its_task_is_not_named_in_time(
    words: list[Said], verdict: str
) -> None:
    assert judged(STILL, words, [finding("notice", "worker:1")], verdict).silent


def test_an_error_about_what_may_end_by_itself_is_wrong() -> None:
    words, findings = [said("error", "worker:1")], [finding("error", "worker:1")]
    assert len(judged(STILL, words, findings).wrong) == 2
    assert judged(DEADLOCK, words, findings).wrong == []
    assert judged(DEAD, words, findings).wrong == []


def test_an_error_about_a_healthy_task_is_wrong() -> None:
    right = finding("error", "worker:1")
    row = judged(DEAD, [said("error", "worker:1"), said("error", "worker:2")], [right])
    assert row.wrong == ["a healthy task: error[keeps-waiting] worker:2"]
    row = judged(DEAD, [said("error", "worker:1")], [right, finding("error", "worker:2")])
    assert len(row.wrong) == 1


def test_an_error_before_anything_happened_is_wrong() -> None:
    words = [said("error", "worker:1", at_s=90.0)]
    assert judged(DEAD, words, [finding("error", "worker:1")]).wrong


def test_a_place_is_right_if_the_task_is_spoken_of() -> None:
    told = finding("error", "/mnt/small", "disk-full", "worker:1 could not write to /mnt/small")
    assert judged(DEAD, [said("error", "worker:1")], [told]).report_right


def test_a_healthy_job_may_be_noticed_but_never_accused() -> None:
    words = [said("notice", "worker:1"), said("warning", "worker:1")]
    row = judged(HEALTHY, words, [], "healthy", exit_code=0)
    assert row.is_fine
    assert row.warned == ["warning[keeps-waiting] worker:1"]
    accused = judged(HEALTHY, [said("error", "worker:1")], [], "healthy", exit_code=0)
    assert accused.wrong
    assert judged(HEALTHY, [], [finding("error", None)], exit_code=1).wrong


def test_a_healthy_job_that_fails_is_a_broken_bench() -> None:
    assert judged(HEALTHY, [], [], "healthy", exit_code=1).broken
    interrupted = replace(HEALTHY, way=INTERRUPTED)
    assert not judged(interrupted, [], [], "healthy", exit_code=130).broken


def test_what_never_happened_is_not_judged() -> None:
    report = {"verdict": "healthy", "findings": []}
    assert judge(STILL, None, [], report, exit_code=0, took_s=1.0).broken
    assert judge(STILL, TRUTH, [], {}, exit_code=0, took_s=1.0).broken


def test_a_way_that_returns_is_a_broken_bench() -> None:
    notes = {"worker:1": [Note("fault", 1, 100.0), Note("over", 1, 101.0)]}
    found = truth_of(STILL, notes, until_s=120.0)
    report = {"verdict": "healthy", "findings": []}
    assert judge(STILL, found, [], report, exit_code=130, took_s=1.0).broken


def test_an_honest_cannot_tell_names_its_task() -> None:
    why = "why worker:1 ended with exit code 3: nothing it left behind proves a cause"
    report = {"verdict": "cannot-tell", "findings": [], "unknown": [why], "healthy": ["worker:0"]}
    row = judge(DEAD, TRUTH, [], report, exit_code=3, took_s=1.0, ended_s=105.0)
    assert row.is_fine
    assert row.notice_s == 4.0


def test_another_task_that_crashed_by_itself_is_counted_apart() -> None:
    def beside(words: list[Said], *findings: dict[str, Any], job: Job = STILL) -> Row:
        report = {"verdict": "sick", "findings": list(findings)}
        crashed = ["worker:0"]
        return judge(job, TRUTH, words, report, exit_code=134, took_s=1.0, crashed=crashed)

    crash = finding("error", "worker:0", "crashed")
    row = beside([said("error", "worker:0", cause="crashed")], crash)
    assert row.is_fine
    assert (row.crashed, row.first_right, row.report_right) == ("worker:0", None, None)
    assert beside([said("error", "worker:0", at_s=90.0)], crash, job=HEALTHY).is_fine
    assert beside([], crash, finding("notice", "worker:1")).is_fine
    assert beside([], crash, finding("error", "worker:2")).wrong
    assert beside([], crash, finding("error", "worker:1")).wrong
    assert beside([], crash, finding("error", "worker:1"), job=DEADLOCK).is_fine
    assert beside([]).silent == "nobody said that worker:0 crashed"
    assert beside([], finding("error", "worker:1"), job=DEAD).crashed == "", "an aftermath"
