"""Whose log a file is, where several files could be the log of one task."""

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import OutputEnded
from holdfast.model.findings import Verdict
from holdfast.model.hearing import Hearing, settle
from holdfast.model.log_facts import LogsGiven


def owners(*names: str) -> tuple[dict[str, TaskId | None], tuple[str, ...]]:
    heard = [Hearing(name).end(tail=b"", bytes_total=0, lines_total=0) for name in names]
    facts = settle(heard)
    ends = [fact for fact in facts if isinstance(fact, OutputEnded)]
    notes = next(fact.notes for fact in facts if isinstance(fact, LogsGiven))
    return {end.source: end.task for end in ends}, notes


def test_what_lies_beside_the_logs_of_all_is_not_the_log() -> None:
    found, notes = owners("worker-0.err", "worker-1.err", "ps-0.err", "pyspy-worker-1-80s.txt")
    assert found["worker-1.err"] == TaskId("worker", 1)
    assert found["pyspy-worker-1-80s.txt"] is None
    assert notes == ()


def test_two_that_are_named_alike_are_told() -> None:
    found, notes = owners("a-worker-1.log", "b-worker-1.log")
    assert set(found.values()) == {None}
    assert "each of them claims to be" in notes[0]


def test_the_folder_of_all_is_nobody() -> None:
    found, _ = owners("worker0_never_started/ss.txt", "worker0_never_started/worker-1.err")
    assert list(found.values()) == [None, TaskId("worker", 1)]


def test_a_folder_of_one_task_is_its_name() -> None:
    found, _ = owners("run/rank_0/stderr", "run/rank_1/stderr")
    assert list(found.values()) == [TaskId("rank", 0), TaskId("rank", 1)]
    assert owners("run/rank_1/stderr")[0] == {"run/rank_1/stderr": TaskId("rank", 1)}


def test_nothing_heard_is_nobody() -> None:
    assert owners() == ({}, ())


def test_files_named_without_an_index_are_alike() -> None:
    found, _ = owners("chief.log", "evaluator.log", "old-chief.log")
    assert found["chief.log"] == TaskId("chief", 0)
    assert found["old-chief.log"] is None


def test_logs_without_a_line_tell_nothing() -> None:
    empty = Hearing("worker-0.log").end(tail=b"", bytes_total=0, lines_total=0)
    diagnosis = diagnose(Evidence(settle([empty])))
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.unknown == ("what happened: the logs are empty",)
