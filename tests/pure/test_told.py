"""What programs tell of themselves, and what follows from it."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.codec import decode, encode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskStarted
from holdfast.model.loss import DIVERGED, FINE, NAN, LossCourse
from holdfast.model.told_differences import odd_one, told_differences, versions_told
from holdfast.model.told_facts import DifferenceTold, ErrorTold, LossTold

HERE: Any = {"at_s": 1.0, "host": "host-a", "task": TaskId("worker", 0)}
WORKERS = [TaskId("worker", index) for index in range(3)]


def course(losses: list[float | None]) -> LossCourse:
    found = LossCourse()
    for step, loss in enumerate(losses):
        found.see(step, loss)
    return found


def differs(name: str, values: dict[str, tuple[str, ...]], **more: Any) -> DifferenceTold:
    return DifferenceTold(
        about=more.pop("about", "variable"), name=name, values=values, **more, **HERE
    )


def evidence(*facts: Fact) -> Evidence:
    started = [
        TaskStarted(at_s=0.0, host="host-a", task=task, pid=7 + task.index) for task in WORKERS
    ]
    return Evidence([*started, *facts])


@pytest.mark.parametrize(
    ("losses", "state"),
    [
        ([], FINE),
        ([2.0, 1.9, 2.1, 2.0, 1.8, 0.1], FINE),
        ([2.0] * 5 + [900.0, 1.0], FINE),  # one bad batch
        ([2.0] * 5 + [900.0] * 3, DIVERGED),
        ([2.0] * 5 + [900.0] * 3 + [1.0] * 4, FINE),  # it has come back
        ([0.001] * 5 + [0.000001] * 5 + [0.001] * 5, FINE),  # noise at the end of learning
        ([-5.0] * 5 + [500.0] * 5, FINE),  # below zero nobody knows
        ([2.0, None], NAN),
        ([None, 2.0], FINE),
    ],
)
def test_a_loss_is_judged_by_its_own_course(losses: list[float | None], state: str) -> None:
    assert course(losses).state == state


def test_how_often_in_a_row_and_since_when_is_counted() -> None:
    found = course([2.0, 2.0, None, None, None])
    assert (found.tells, found.since_step) == (3, 2)


def test_who_knew_of_most_tasks_tells_the_difference() -> None:
    one = differs("kernel", {"[1]": ("worker:0",), "[2]": ("worker:1",)})
    all_of_them = differs("kernel", {"[1]": ("worker:0", "worker:2"), "[2]": ("worker:1",)})
    harmless = differs("name", {"a": ("worker:0",), "b": ("worker:1",)}, stops=False)
    for facts in ((one, all_of_them, harmless), (all_of_them, harmless, one)):
        assert told_differences(evidence(*facts)) == (all_of_them,)


@pytest.mark.parametrize(
    ("groups", "odd"),
    [
        ([("worker:0", "worker:2"), ("worker:1",)], "worker:1"),
        ([("worker:0",), ("worker:1",)], "None"),
        ([("worker:0", "worker:2")], "None"),
        ([("worker:0",), ("worker:1",), ("worker:2",)], "None"),
        ([("worker:0", "worker:2"), ("stranger:1",)], "None"),
        ([], "None"),
    ],
)
def test_the_odd_one_is_a_single_task_against_a_majority(
    groups: list[tuple[str, ...]], odd: str
) -> None:
    told = differs("kernel", {str(number): group for number, group in enumerate(groups)})
    assert str(odd_one(evidence(told), [told])) == odd


def test_of_two_differences_with_different_odd_ones_nobody_is_accused() -> None:
    one = differs("kernel", {"[1]": ("worker:0", "worker:2"), "[2]": ("worker:1",)})
    other = differs("bias", {"[1]": ("worker:0", "worker:1"), "[2]": ("worker:2",)})
    assert odd_one(evidence(one, other), [one, other]) is None


def test_versions_are_told_of_tasks_that_exist() -> None:
    told = differs(
        "numpy", {"1.26": ("worker:1", "stranger:0"), "2.1": ("worker:0",)}, about="version"
    )
    variable = differs("kernel", {"[1]": ("worker:0",), "[2]": ("worker:1",)})
    seen = {str(one.task): one.versions for one in versions_told(evidence(told, variable))}
    assert seen == {"worker:1": {"numpy": "1.26"}, "worker:0": {"numpy": "2.1"}}


@pytest.mark.parametrize(
    "fact",
    [
        differs("kernel", {"[1]": ("worker:0",), "[2]": ("worker:1",)}),
        ErrorTold(exception="UnavailableError", message="x", named=("ps:0",), **HERE),
        LossTold(name="loss", state="nan", step=3, **HERE),
    ],
)
def test_what_was_told_survives_the_journal(fact: Fact) -> None:
    assert decode(encode(fact)) == fact


def test_who_differs_from_those_that_came_first_is_not_the_odd_one_yet() -> None:
    told = differs("kernel", {"[1]": ("worker:0", "worker:1"), "[2]": ("worker:2",)})
    more = [
        TaskStarted(at_s=0.0, host="host-a", task=TaskId("worker", index), pid=7)
        for index in (3, 4)
    ]
    assert odd_one(evidence(told, *more), [told]) is None
    assert str(odd_one(evidence(told), [told])) == "worker:2"


def test_the_program_knew_of_more_tasks_than_it_could_name() -> None:
    told = differs("kernel", {"[1]": ("worker:0",), "[2]": ("worker:1",)}, odd=("worker:1",))
    assert str(odd_one(evidence(told), [told])) == "worker:1"
