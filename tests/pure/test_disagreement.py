"""Who is the odd one out, when tasks disagree or one of them leaves."""

from typing import Any

from holdfast.catalogue.data.collective_mismatch import cause as mismatch
from holdfast.catalogue.process.ended_early import cause as early
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, LogLine, TaskExited

WORKERS = [TaskId("worker", index) for index in range(3)]
BEGAN = AttemptStarted(
    at_s=0.0,
    host="host-a",
    began_unix_s=1.0,
    tasks=("worker:0", "worker:1", "worker:2"),
    holdfast="1",
)
ABORT = "base_collective_executor.cc:252] BaseCollectiveExecutor::StartAbort INTERNAL: "


def said(task: TaskId, text: str) -> LogLine:
    where: Any = {"at_s": 5.0, "host": "host-a", "task": task}
    return LogLine(text=text, **where)


def test_whom_all_the_others_object_to_is_the_odd_one() -> None:
    words = ABORT + "Collective instance 7 expected type 8 and data_type 2 but got type 1 and"
    facts: list[Fact] = [BEGAN, *(said(task, words + " data_type 77") for task in WORKERS[:2])]
    (proof,) = mismatch.detect(Evidence(facts))
    assert proof.culprit == WORKERS[2]
    assert proof.says == (
        "worker:2 does not run the same collectives as the others: worker:0 came with a broadcast"
        " of type 77 where another task had a type 8 of float64"
    )


def test_when_nobody_stands_alone_nobody_is_accused() -> None:
    words = "Collective instance 7 expected type 1 and data_type 2 but got type 1 and data_type 1"
    (proof,) = mismatch.detect(Evidence([BEGAN, said(WORKERS[0], words)]))
    assert proof.culprit is None


def test_last_words_tell_as_much_as_a_traceback() -> None:
    facts: list[Fact] = [
        BEGAN,
        TaskExited(at_s=4.0, host="host-a", task=WORKERS[1], exit_code=0),
        said(WORKERS[0], "UNAVAILABLE: Socket closed"),
        TaskExited(at_s=6.0, host="host-a", task=WORKERS[0], exit_code=1),
    ]
    (proof,) = early.detect(Evidence(facts))
    assert proof.says == (
        "worker:1 ended with exit code 0 while worker:0 still needed it; worker:0 failed 2 s later"
    )
