"""The story of a failure in few moments: who was first, who echoed, who fell silent when."""

from holdfast.diagnose.timeline import KEPT_MAX, MOMENTS_MAX, Moment, Role, timeline
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Fact,
    LastWords,
    LogLine,
    TaskExited,
    TimePassed,
    TracebackSeen,
)
from holdfast.model.findings import Cause, Diagnosis, Echo, Finding, Proof, Severity, Verdict
from holdfast.model.log_facts import LogsGiven
from holdfast.model.remedies import AskHuman

PS, CHIEF, WORKER = TaskId("ps", 0), TaskId("chief", 0), TaskId("worker", 0)
CAUSE = Cause(family="unknown", remedy=AskHuman())
NOISE = "E0000 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory"


def line(at_s: float, task: TaskId | None, text: str = "x", **where: int | str) -> LogLine:
    return LogLine(at_s=at_s, host="a", task=task, text=text, **where)  # type: ignore[arg-type]


def traceback(at_s: float, task: TaskId) -> TracebackSeen:
    return TracebackSeen(at_s=at_s, host="a", task=task, exception="E", message="m")


def words(at_s: float, task: TaskId | None, source: str) -> LastWords:
    return LastWords(at_s=at_s, host="a", task=task, lines=("bye",), source=source)


def finding(
    *facts: Fact, echoes: tuple[Echo, ...] = (), severity: Severity | None = None
) -> Finding:
    proof = Proof(facts=facts, says="it failed", culprit=facts[0].task, severity=severity)
    return Finding(name="disk-full", cause=CAUSE, proof=proof, echoes=echoes)


def echo(task: TaskId, since_s: float, *facts: Fact) -> Echo:
    return Echo(task=task, cause="peer-gone", says="lost ps:0", since_s=since_s, facts=facts)


def told(facts: list[Fact], *findings: Finding) -> tuple[Moment, ...]:
    diagnosis = Diagnosis(verdict=Verdict.SICK, findings=findings, broken={})
    return timeline(Evidence(facts), diagnosis)


def in_words(moments: tuple[Moment, ...]) -> list[str]:
    return [f"{moment.at_s:g} {moment.task} {moment.role}" for moment in moments]


def test_the_cause_comes_first_then_its_echoes_then_the_ends() -> None:
    full, lost, late = line(10, PS), line(12, WORKER), line(19, WORKER)
    ended = TaskExited(at_s=11, host="a", task=PS, exit_code=1)
    found = finding(full, echoes=(echo(WORKER, 12, late, lost), echo(CHIEF, 13)))
    moments = told([full, lost, late, ended], found)
    assert in_words(moments) == [
        "10 ps:0 first",
        "11 ps:0 end",
        "12 worker:0 echo",
        "13 chief:0 echo",
    ]
    assert [moment.fact for moment in moments] == [full, ended, lost, None]
    assert moments[-1].says == "lost ps:0"


def test_at_a_tie_the_cause_is_told_before_its_echoes() -> None:
    full, lost = line(0, PS, offset=900), line(0, WORKER, offset=1)
    last = words(0, PS, "ps.log")
    moments = told([last, lost, full], finding(full, echoes=(echo(WORKER, 0, lost),)))
    assert [moment.role for moment in moments] == [Role.FIRST, Role.ECHO, Role.END]


def test_one_fact_is_told_once() -> None:
    ended = TaskExited(at_s=1, host="a", task=PS, signal=9)
    assert in_words(told([ended], finding(ended))) == ["1 ps:0 first"]


def test_words_are_told_rather_than_the_exit_and_not_after_it() -> None:
    full, code, lost = line(2, PS), line(3, WORKER), traceback(4, WORKER)
    ends = [
        TaskExited(at_s=at_s, host="a", task=task, exit_code=1)
        for at_s, task in ((1, PS), (9, WORKER))
    ]
    found = finding(*ends[:1], full, echoes=(echo(WORKER, 1, ends[1], code, lost),))
    moments = told([full, code, lost, *ends], found)
    assert in_words(moments) == ["1 ps:0 first", "1 ps:0 end", "4 worker:0 echo", "9 worker:0 end"]
    assert moments[2].fact is lost


def test_one_task_says_the_cause_twice_at_most() -> None:
    said = [line(number, PS, line=1 + number) for number in range(9)]
    moments = told([*said], finding(*said))
    assert in_words(moments) == ["0 ps:0 first", "1 ps:0 first"]


def test_what_was_seen_rather_than_said_belongs_to_the_cause_too() -> None:
    disk = TimePassed(at_s=1, host="a")
    assert in_words(told([disk], finding(disk))) == ["1 None first"]


def test_what_we_know_of_the_whole_is_no_moment() -> None:
    given = LogsGiven(at_s=0, host="a", sources=())
    assert told([given], finding(given)) == ()


def test_warnings_are_no_part_of_the_story() -> None:
    full = line(1, PS)
    assert told([full], finding(full, severity=Severity.WARNING)) == ()


def test_who_fell_silent_is_told_once_for_a_task_and_once_for_a_file_of_nobody() -> None:
    seen = [
        words(5, WORKER, "worker.err"),
        words(9, WORKER, "worker.out"),
        words(7, None, "job.log"),
        words(3, PS, "ps.err"),
        TaskExited(at_s=4, host="a", task=PS, exit_code=0),
    ]
    assert in_words(told([*seen])) == ["4 ps:0 end", "7 None end", "9 worker:0 end"]
    assert in_words(told([*seen, words(2, WORKER, "old")]))[-1] == "9 worker:0 end"


def test_noise_is_told_once_for_each_task_and_as_what_it_is() -> None:
    seen = [
        line(1, PS, NOISE, line=1),
        line(2, PS, NOISE, line=2),
        line(3, None, NOISE, source="j"),
    ]
    assert in_words(told([*seen, line(4, PS, "step 4")])) == ["1 ps:0 noise", "3 None noise"]


def test_a_thousand_victims_hide_neither_the_cause_nor_how_it_ended() -> None:
    others = [PS, *(TaskId("ps", 1 + index) for index in range(99))]
    full, *more = (line(1 + index / 100, task) for index, task in enumerate(others))
    workers = [TaskId("worker", index) for index in range(1000)]
    lost = [line(2 + index, task) for index, task in enumerate(workers)]
    ends = [TaskExited(at_s=5000, host="a", task=task, exit_code=1) for task in [*workers, PS]]
    noise = [line(0, task, NOISE, line=9) for task in workers]
    echoes = tuple(echo(fact.task, fact.at_s, fact) for fact in lost if fact.task)
    moments = told([full, *more, *lost, *ends, *noise], finding(full, *more, echoes=echoes))
    assert len(moments) == MOMENTS_MAX
    roles = [moment.role for moment in moments]
    assert roles.count(Role.ECHO) == KEPT_MAX[Role.ECHO]
    assert Moment(1, PS, Role.FIRST, full) in moments
    assert Moment(5000, PS, Role.END, ends[-1]) in moments
