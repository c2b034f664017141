"""Tasks are named as TF_CONFIG names them, and a stranger's name cannot do harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import ClusterSpec, TaskId, is_plain_name
from holdfast.model.errors import BadInput

PS, CHIEF, EVALUATOR = TaskId("ps", 0), TaskId("chief", 0), TaskId("evaluator", 0)
WORKER_2, WORKER_10 = TaskId("worker", 2), TaskId("worker", 10)


@given(st.from_regex(r"\A[a-z][a-z0-9_-]{0,62}\Z"), st.integers(0, 999_999))
def test_parse_undoes_str(role: str, index: int) -> None:
    task = TaskId(role, index)
    assert TaskId.parse(str(task)) == task


@pytest.mark.parametrize(
    "text",
    [
        "",
        "worker",
        "worker:",
        ":0",
        "worker:-1",
        "worker:1.0",
        "worker:1000000",
        "worker:٣",
        "Worker:0",
        "../etc:0",
        "a b:0",
        "worker:0:1",
        "w\x1b[31m:0",
    ],
)
def test_what_is_no_task_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        TaskId.parse(text)
    assert repr(text) in caught.value.message
    assert "worker:3" in caught.value.do


def test_tasks_are_sorted_by_number_and_not_by_text() -> None:
    assert sorted([WORKER_10, WORKER_2, PS]) == [PS, WORKER_2, WORKER_10]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("worker", True), ("my-role_2", True), ("", False), ("2nd", False), ("a" * 64, False)],
)
def test_plain_names(text: str, *, plain: bool) -> None:
    assert is_plain_name(text) is plain


def test_tf_config_is_json_in_the_order_of_the_indices() -> None:
    cluster = ClusterSpec({WORKER_10: "c:3", PS: "a:1", WORKER_2: "b:2"})
    assert json.loads(cluster.tf_config(WORKER_10)) == {
        "cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]},
        "task": {"type": "worker", "index": 10},
    }


def test_nobody_knows_the_evaluator_but_itself() -> None:
    cluster = ClusterSpec({CHIEF: "a:1", EVALUATOR: "b:2"})
    for task in (CHIEF, EVALUATOR):
        assert json.loads(cluster.tf_config(task))["cluster"] == {"chief": ["a:1"]}
    assert json.loads(cluster.tf_config(EVALUATOR))["task"] == {"type": "evaluator", "index": 0}
