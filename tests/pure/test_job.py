"""A wrong job is refused before anything starts, with what to write instead."""

from typing import Any

import pytest

from holdfast.model.errors import BadJob
from holdfast.model.job import GRACE_S_MAX, KEEP_BYTES_MIN, TASKS_MAX, Job

COMMAND = ("python", "train.py")


def test_the_defaults_are_one_worker_and_nothing_else() -> None:
    assert [str(task) for task in Job(command=COMMAND).tasks] == ["worker:0"]


def test_tasks_start_with_those_that_others_need() -> None:
    job = Job(command=COMMAND, workers=2, ps=2, chief=True, evaluator=True)
    names = ["ps:0", "ps:1", "chief:0", "worker:0", "worker:1", "evaluator:0"]
    assert [str(task) for task in job.tasks] == names


@pytest.mark.parametrize(
    ("settings", "complaint", "advice"),
    [
        ({"command": ()}, "no command", "holdfast run --workers 2 -- python"),
        ({"command": ("",)}, "no command", "holdfast run"),
        ({"command": ("a", "b\0c")}, "NUL", "remove it"),
        ({"workers": -1}, "negative", "0 or more"),
        ({"ps": -1}, "negative", "0 or more"),
        ({"workers": 0}, "nobody would train", "--workers 1"),
        ({"workers": TASKS_MAX, "ps": 1}, f"{TASKS_MAX + 1} tasks", "fewer"),
        ({"grace_s": -0.5}, "grace of -0.5 s", "--grace-s 15"),
        ({"grace_s": GRACE_S_MAX + 1}, "grace", "--grace-s 15"),
        ({"grace_s": float("nan")}, "grace", "--grace-s 15"),
        ({"keep_bytes": KEEP_BYTES_MIN - 1}, "lose the evidence", "--keep-bytes 1M"),
        ({"start_deadline_s": -1}, "start deadline of -1 s", "0 waits for ever"),
        ({"show": "loud"}, "'loud' is no level", "all, info, warning, error"),
        ({"addresses": {"worker": ("a:1", "b:1")}}, "2 addresses are given for 1", "one host:port"),
        ({"addresses": {"ps": ("a:1",)}}, "1 addresses are given for 0", "one host:port"),
        ({"env": {"": "x"}}, "cannot be the name", "NAME=VALUE"),
        ({"env": {"A=B": "x"}}, "cannot be the name", "NAME=VALUE"),
        ({"env": {"A": "x\0"}}, "cannot be the name", "NAME=VALUE"),
        ({"env": {"TF_CONFIG": "{}"}}, "set by Holdfast", "leave it out"),
    ],
    ids=str,
)
def test_a_wrong_job_is_refused(settings: dict[str, Any], complaint: str, advice: str) -> None:
    with pytest.raises(BadJob) as caught:
        Job(**{"command": COMMAND, **settings})
    assert complaint in caught.value.message
    assert advice in caught.value.do


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 0, "chief": True},
        {"workers": TASKS_MAX},
        {"grace_s": 0},
        {"grace_s": GRACE_S_MAX},
        {"keep_bytes": KEEP_BYTES_MIN},
        {"keep_bytes": None},
        {"start_deadline_s": 0},
        {"addresses": {"worker": ("a:1",)}, "evaluator": True},
        {"env": {"A": ""}},
    ],
    ids=str,
)
def test_the_edges_are_allowed(settings: dict[str, Any]) -> None:
    Job(**{"command": COMMAND, **settings})


def test_secrets_do_not_show_in_the_repr() -> None:
    assert "hunter2" not in repr(Job(command=COMMAND, env={"TOKEN": "hunter2"}))
