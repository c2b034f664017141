"""Who may write where in a log directory that tasks share."""

import json
from pathlib import Path

import pytest
from tests.in_task.conftest import Job

ASK = """
import holdfast.tf, os
found = holdfast.tf.logdir("/data/run/")
again = holdfast.tf.logdir("/data/run/")
print(found.is_chief, found.checkpoints, found.summaries, found.restore_from, sep="|")
print(found == again, os.path.isdir(found.checkpoints))
if os.fork() == 0:
    raise SystemExit
os.wait()
print(os.path.isdir(found.checkpoints))
"""
MIRRORED = {"worker": ["a:1", "b:1"]}
WITH_CHIEF = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}


@pytest.mark.parametrize(
    ("cluster", "task", "chief"),
    [
        (MIRRORED, "worker:0", True),
        (MIRRORED, "worker:1", False),
        (WITH_CHIEF, "chief:0", True),
        (WITH_CHIEF, "worker:0", False),
        (WITH_CHIEF, "evaluator:0", False),
    ],
)
def test_only_the_chief_writes_checkpoints_that_all_can_see(
    job: Job, cluster: dict[str, list[str]], task: str, *, chief: bool
) -> None:
    role, _, index = task.partition(":")
    config = json.dumps({"cluster": cluster, "task": {"type": role, "index": int(index)}})
    done = job.done(ASK, task, TF_CONFIG=config)
    first, second, third = done.stdout.splitlines()
    is_chief, checkpoints, summaries, restored = first.split("|")
    assert (is_chief, summaries) == (str(chief), f"/data/run/summaries/{role}-{index}")
    assert restored == "/data/run/checkpoints"
    assert (checkpoints == restored) == chief
    if not chief:
        assert second == "True True", "the same place for the whole process"
        assert third == "True", "a child's end does not take it"
        assert not Path(checkpoints).exists(), "removed at its end"


@pytest.mark.parametrize("config", ["", "{", "[]", '{"task": 3}', '{"cluster": 5, "task": {}}'])
def test_a_task_without_a_readable_cluster_is_its_own_chief(job: Job, config: str) -> None:
    done = job.done(ASK, "", TF_CONFIG=config)
    assert done.stdout.startswith("True|/data/run/checkpoints|/data/run/summaries/alone|")
