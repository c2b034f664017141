"""The plan is what will be started, in words that a person can check beforehand."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.launch.local import backend
from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import BadInput
from holdfast.model.job import Job
from holdfast.model.plan import Plan, plan_again, plan_tasks
from holdfast.model.submission import decode_plan, encode_plan

GOLDEN = Path(__file__).parent.parent / "plans" / "local.txt"
JOB = Job(
    command=("python", "train.py", "--name", "my model"),
    workers=2,
    ps=1,
    chief=True,
    evaluator=True,
    env={"TOKEN": "hunter2", "HOLDFAST_TASK": "mine", "PYTHONUNBUFFERED": "0"},
    keep_bytes=1 << 20,
)
CLUSTER = ClusterSpec({task: f"127.0.0.1:{20_000 + i}" for i, task in enumerate(JOB.tasks)})


def plan() -> Plan:
    return backend.plan(JOB, CLUSTER, run_id="20261115-1", run_dir="/data/runs/1")


def test_the_plan_is_what_we_reviewed() -> None:
    if os.environ.get("UPDATE"):
        GOLDEN.write_text(plan().text() + "\n")
    assert plan().text() + "\n" == GOLDEN.read_text()


def test_the_same_job_gives_the_same_plan() -> None:
    assert plan() == plan()


def test_a_users_values_stay_unsaid() -> None:
    assert plan().tasks[0].env["TOKEN"] == "hunter2"
    assert "hunter2" not in plan().text()


def test_a_user_may_ask_for_buffers_but_not_for_another_name() -> None:
    env = plan().tasks[0].env
    assert (env["PYTHONUNBUFFERED"], env["HOLDFAST_TASK"]) == ("0", "ps:0")


@pytest.mark.parametrize("guard_hdf5", [True, False])
def test_only_who_asks_for_it_has_its_hdf5_files_guarded(guard_hdf5: bool) -> None:  # noqa: FBT001
    job = Job(command=("true",), guard_hdf5=guard_hdf5)
    made = plan_tasks(job, ClusterSpec({}), run_id="1", run_dir="/data/1")
    assert ("HOLDFAST_GUARD_HDF5" in made.tasks[0].env) == guard_hdf5


def test_a_task_without_an_address_is_shown_as_such() -> None:
    alone = plan_tasks(Job(command=("true",)), ClusterSpec({}), run_id="1", run_dir="/data/1")
    assert "worker:0 at no address" in alone.text()


def test_a_supervisor_gets_the_whole_plan() -> None:
    assert decode_plan(encode_plan(plan())) == plan()


def test_another_attempt_differs_in_its_number_and_in_who_listens_where() -> None:
    chief = TaskId("chief", 0)
    again = plan_again(plan(), attempt=2, addresses={chief: "127.0.0.1:29999"})
    assert again.cluster.addresses == {**CLUSTER.addresses, chief: "127.0.0.1:29999"}
    for old, new in zip(plan().tasks, again.tasks, strict=True):
        assert new.env["HOLDFAST_ATTEMPT"] == "2"
        assert "127.0.0.1:29999" in new.env["TF_CONFIG"]
        assert (new.command, new.env["TOKEN"]) == (old.command, old.env["TOKEN"])
    assert next(one.address for one in again.tasks if one.task == chief) == "127.0.0.1:29999"


def test_a_holder_gives_the_plan_as_it_is_by_now() -> None:
    kept = json.loads(encode_plan(plan()))
    moved = {"attempt": 3, "addresses": {"chief:0": "127.0.0.1:29999"}}
    found = decode_plan(json.dumps({**kept, **moved}).encode())
    addresses = {TaskId("chief", 0): "127.0.0.1:29999"}
    assert found == plan_again(plan(), attempt=3, addresses=addresses)


@given(
    st.lists(st.text(max_size=10), min_size=1, max_size=3),
    st.dictionaries(st.text("ABC", min_size=1, max_size=5), st.text(max_size=10), max_size=3),
    st.none() | st.integers(65_536, 1 << 40),
)
def test_any_plan_survives_the_pipe(
    command: list[str], env: dict[str, str], keep_bytes: int | None
) -> None:
    if not command[0] or "\0" in "".join([*command, *env.values()]):
        return
    job = Job(command=tuple(command), env=env, keep_bytes=keep_bytes)
    cluster = ClusterSpec({TaskId("worker", 0): "a:1"})
    planned = plan_tasks(job, cluster, run_id="1", run_dir="/data/1")
    assert decode_plan(encode_plan(planned)) == planned


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"tasks":3}',
        b'{"tasks":[],"run_id":"1","run_dir":"/","grace_s":"soon","keep_bytes":null}',
        b'{"tasks":[{"task":"Nobody"}]}',
        b'{"tasks":[{"task":"ps:0","address":"a","command":["x"],"env":3}]}',
        b'{"tasks":["ps:0"]}',
    ],
)
def test_what_is_no_plan_is_bad_input(text: bytes) -> None:
    with pytest.raises(BadInput):
        decode_plan(text)
