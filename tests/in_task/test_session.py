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


def test_what_a_graph_reads_and_trains_with_is_known_without_a_word_from_the_program(
    job: Job,
) -> None:
    reads = "data = tf.data.Dataset.range(4).map(lambda _: tf.zeros([2])).repeat().batch(4)\n"
    reads += "read = tf1.data.make_one_shot_iterator(data).get_next()\n"
    quickly = "from holdfast.in_task import agreeing\n"
    quickly += "agreeing.agree.__kwdefaults__['wait_s'] = 0.2\n"
    code = program(steps=3).replace("weight = tf1", quickly + reads + "weight = tf1", 1)
    code = code.replace("weight - 1.0", "weight - read[0]")
    done = job.done(code.replace("sys.stdin.read()", ""), "worker:0", **as_member("worker"))
    assert done.returncode == 0, done.stderr
    assert "no fingerprint of chief:0 within" in done.stderr
    found = json.loads((job.folder / "fingerprint.1.1.worker-0.json").read_text())
    facets = {(about, name): (what, stops) for about, name, what, stops in found["facets"]}
    assert facets["input", "element"] == ("float32 [*, 2]", True)
    assert facets["graph", "op Square"] == ("1", False)
    assert facets["graph", "op IteratorGetNext"] == ("1", False)
