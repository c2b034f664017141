"""A job that trains for weeks does not fill the supervisor's memory."""

from holdfast.coordinator.kept import KEPT_MAX, kept
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LogLine
from holdfast.model.watch_facts import StepsSeen

ONE, TWO = TaskId("worker", 0), TaskId("worker", 1)


def steps(task: TaskId, count: int) -> list[Fact]:
    return [
        StepsSeen(at_s=float(at), host="host-a", task=task, step=at, source="log")
        for at in range(count)
    ]


def test_of_what_is_told_again_and_again_the_newest_stay() -> None:
    limit = KEPT_MAX[StepsSeen]
    facts = kept([*steps(ONE, limit + 10), *steps(TWO, 3)])
    assert facts == [*steps(ONE, limit + 10)[10:], *steps(TWO, 3)]


def test_what_proves_a_cause_stays_for_ever() -> None:
    lines: list[Fact] = [
        LogLine(at_s=float(at), host="host-a", task=ONE, text="error") for at in range(500)
    ]
    assert kept(lines) == lines
