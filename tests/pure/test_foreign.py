"""What PyTorch and JAX are told of who they are: the same that TF_CONFIG says."""

import pytest

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import BadJob
from holdfast.model.foreign import NAMES, moved, variables
from holdfast.model.job import Job
from holdfast.model.plan import OF_THE_ATTEMPT, plan_again, plan_tasks
from holdfast.model.submission import decode_plan, encode_plan

W0, W1, W2 = (TaskId("worker", index) for index in range(3))
CLUSTER = ClusterSpec({W0: "a:20001", W1: "b:20002", W2: "b:20003"})


def test_what_torch_reads() -> None:
    assert variables("torch", CLUSTER, W2) == {
        "RANK": "2",
        "WORLD_SIZE": "3",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "a",
        "MASTER_PORT": "20001",
    }
    assert variables("torch", ClusterSpec({W0: "[::1]:7"}), W0)["MASTER_ADDR"] == "::1"


def test_what_jax_reads() -> None:
    assert variables("jax", CLUSTER, W1) == {
        "JAX_COORDINATOR_ADDRESS": "a:20001",
        "JAX_NUM_PROCESSES": "3",
        "JAX_PROCESS_ID": "1",
    }


def test_nothing_where_nobody_asks_and_for_nobody_else() -> None:
    assert variables("", CLUSTER, W0) == {}
    assert variables("torch", CLUSTER, TaskId("evaluator", 0)) == {}
    both = {*variables("torch", CLUSTER, W0), *variables("jax", CLUSTER, W0)}
    assert both == NAMES


def test_a_plan_has_them_and_shows_them() -> None:
    job = Job(command=("train",), workers=3, launch_for="torch", env={"WORLD_SIZE": "mine"})
    plan = plan_tasks(job, CLUSTER, run_id="1", run_dir="/data/1")
    env = plan.tasks[1].env
    assert (env["RANK"], env["WORLD_SIZE"]) == ("1", "mine"), "what a user sets wins"
    assert "  MASTER_ADDR=a\n" in plan.text()
    assert decode_plan(encode_plan(plan)) == plan
    without = plan_tasks(
        Job(command=("train",), workers=3, env={"RANK": "7"}), CLUSTER, run_id="1", run_dir="/1"
    )
    assert without.tasks[0].env["RANK"] == "7"
    assert "RANK='…'" in without.text()
    assert "WORLD_SIZE" not in without.tasks[0].env


def test_another_attempt_meets_where_its_first_process_is() -> None:
    job = Job(command=("train",), workers=3, launch_for="torch", env={"MASTER_ADDR": "mine"})
    plan = plan_tasks(job, CLUSTER, run_id="1", run_dir="/data/1")
    again = plan_again(plan, attempt=2, addresses={W0: "c:20009"})
    env = again.tasks[2].env
    assert (env["MASTER_PORT"], env["MASTER_ADDR"], env["RANK"]) == ("20009", "mine", "2")
    assert {"MASTER_PORT", "JAX_COORDINATOR_ADDRESS"} <= set(OF_THE_ATTEMPT)
    assert moved("", W0, {}, before=CLUSTER, after=CLUSTER) == {}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"launch_for": "mxnet"}, "'mxnet' is no framework"),
        ({"launch_for": "torch", "ps": 1}, "a job for torch has workers only"),
        ({"launch_for": "jax", "chief": True}, "a job for jax has workers only"),
        ({"launch_for": "jax", "evaluator": True}, "a job for jax has workers only"),
        ({"preempt_signal": "SIGKILL"}, "'SIGKILL' is no signal"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadJob, match=complaint):
        Job(command=("train",), **settings)  # type: ignore[arg-type]
