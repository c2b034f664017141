"""One fault of several tasks is read once."""

from typing import Any

import pytest

from holdfast.views.same_fault import same_faults_joined, speaks_of


def found(culprit: str | None, says: str, **more: Any) -> dict[str, Any]:
    return {
        "cause": "user-exception",
        "severity": "error",
        "confidence": "certain",
        "culprit": culprit,
        "host": "gpu-07",
        "since": f"2026-11-15T18:02:5{(culprit or '9')[-1]}.000Z",
        "says": says,
        "do": [f"fix train.py:12 of {culprit}"],
        "echoes": [],
        **more,
    }


def said(index: int, rest: str = "raised ValueError at train.py:12: it is bad") -> dict[str, Any]:
    return found(f"worker:{index}", f"worker:{index} {rest}")


def test_the_same_fault_is_one_that_lists_its_tasks() -> None:
    (one,) = same_faults_joined([said(1), said(0), said(2)])
    names = "worker:1, worker:0 and worker:2"
    assert one["says"] == f"{names} raised ValueError at train.py:12: it is bad"
    assert one["culprit"] == names
    assert one["since"].startswith("2026-11-15T18:02:50")
    assert one["do"] == ["fix train.py:12 of worker:1"]
    assert one["host"] == "gpu-07"


def test_of_many_the_ranges_are_named() -> None:
    (one,) = same_faults_joined([said(index) for index in range(11)])
    assert one["says"].startswith("worker:0-10 raised ValueError")


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("was killed by the kernel", "worker:0 and worker:1 were killed by the kernel"),
        (
            "is deadlocked in its own code",
            "worker:0 is deadlocked in its own code (and the same of worker:1)",
        ),
        ("waits for ps:0.", "worker:0 waits for ps:0 (and the same of worker:1)"),
    ],
)
def test_the_sentence_stays_english(rest: str, says: str) -> None:
    (one,) = same_faults_joined([said(0, rest), said(1, rest)])
    assert one["says"] == says


def test_a_name_inside_of_the_sentence_stays_that_of_the_first() -> None:
    pair = [found(f"worker:{n}", f"the kernel killed worker:{n} for memory") for n in (0, 1)]
    (one,) = same_faults_joined(pair)
    assert one["says"] == "the kernel killed worker:0 for memory (and the same of worker:1)"


@pytest.mark.parametrize(
    "other",
    [
        said(1, "raised KeyError at train.py:12"),
        {**said(1), "severity": "warning"},
        {**said(1), "confidence": "likely"},
        {**said(1), "cause": "crashed"},
        found("worker:10", "worker:1 raised ValueError at train.py:12: it is bad"),
    ],
)
def test_what_differs_stays_apart(other: dict[str, Any]) -> None:
    assert same_faults_joined([said(0), other]) == [said(0), other]


def test_what_is_nobodys_fault_stays_alone() -> None:
    pair = [found(None, "the disk is full"), found(None, "the disk is full")]
    assert same_faults_joined(pair) == pair


def test_the_order_is_that_of_the_first_and_victims_are_joined() -> None:
    echoes = [{"task": f"worker:{n}", "cause": "peer-gone", "says": "lost"} for n in (1, 3, 4)]
    other = found("ps:0", "ps:0 crashed")
    first = {**said(0), "echoes": echoes[:2]}
    joined, apart = same_faults_joined([first, other, {**said(1), "echoes": echoes[1:]}])
    assert apart == other
    assert [echo["task"] for echo in joined["echoes"]] == ["worker:3", "worker:4"]


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("worker:1 waits", True),
        ("for worker:1.", True),
        ("for worker:1: so", True),
        ("worker:10 waits", False),
        ("my-worker:1", False),
        ("worker:1.err", False),
        ("worker:10, worker:1", True),
        ("", False),
    ],
)
def test_a_name_is_a_word_of_its_own(text: str, is_named: bool) -> None:  # noqa: FBT001
    assert speaks_of(text, "worker:1") is is_named
