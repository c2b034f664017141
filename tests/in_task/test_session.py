"""The hook for MonitoredTrainingSession: global steps, the loss, and what the graph declares."""

import json

from tests.in_task.conftest import Job

from holdfast.model.told_facts import LossTold
from holdfast.model.watch_facts import StepsSeen

TRAIN = """
import sys
import holdfast.tf
import tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
weight = tf1.get_variable("weight", shape=[SIZE], initializer=tf1.zeros_initializer())
step = tf1.train.get_or_create_global_step()
loss = tf1.identity(tf1.reduce_sum(tf1.square(weight - 1.0)) / DIVISOR, name="loss")
train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
hook = holdfast.tf.Hook(loss="loss")
hooks = [hook, tf1.train.StopAtStepHook(num_steps=STEPS)]
with tf1.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
print("trained", flush=True)
sys.stdin.read()
"""


def program(*, size: int = 2, divisor: str = "1.0", steps: int = 500) -> str:
    code = TRAIN.replace("SIZE", str(size)).replace("DIVISOR", divisor)
    return code.replace("STEPS", str(steps))


def as_member(role: str) -> dict[str, str]:
    cluster = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}})}


def test_global_steps_the_loss_and_the_last_step_are_told(job: Job) -> None:
    job.watch()
    job.start(program(divisor="tf1.cast(step < 200, tf1.float32)", steps=20_000))
    told = job.heard(LossTold, lambda fact: fact.state == "nan")
    assert told.since_step >= 200
    assert job.heard(StepsSeen, lambda fact: fact.step == 20_000).source == "told"


def test_a_variable_of_another_shape_is_found_before_a_session_is_made(job: Job) -> None:
    theirs = {"variables": [["weight:0", "float32 [2]"], ["global_step:0", "int64 []"]]}
    path = job.folder / "fingerprint.1.1.chief-0.json"
    path.write_text(json.dumps({**theirs, "by_name": True, "facets": []}))
    done = job.done(program(size=3, steps=5), "worker:0", **as_member("worker"))
    assert done.returncode == 1
    assert "variable weight:0: float32 [2] in chief:0; float32 [3] in worker:0" in done.stderr
    assert "trained" not in done.stdout
