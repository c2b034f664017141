"""The Keras callback: exact steps, losses, and a comparison of the tasks before the first step.

One TensorFlow process after the other: what a task has built is compared by way of files.
"""

import json
import re
import subprocess

from tests.in_task.conftest import Job

from holdfast.model.told_facts import DifferenceTold, LossTold
from holdfast.model.watch_facts import StepsSeen

TRAIN = """
import sys
import numpy as np, tensorflow as tf
import holdfast.tf
units, rate, epochs = UNITS_RATE_EPOCHS
tf.keras.utils.set_random_seed(1)
layers = [tf.keras.layers.Input((4,)), tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile(tf.keras.optimizers.SGD(rate), "mse")
x = np.ones((64, 4), "float32")
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
told = holdfast.tf.Callback(compare=COMPARE)
model.fit(data, epochs=epochs, verbose=0, callbacks=[told])
print("trained", int(model.optimizer.iterations), flush=True)
sys.stdin.read()
"""
CLUSTER = {"worker": ["a:1", "b:1", "c:1"]}


def program(units: int, rate: float, epochs: int) -> str:
    code = TRAIN.replace("UNITS_RATE_EPOCHS", str((units, rate, epochs)))
    return code.replace("COMPARE", "True")


def as_worker(job: Job, index: int, code: str) -> "subprocess.CompletedProcess[str]":
    config = json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": index}})
    quickly = code.replace("import holdfast.tf\n", "import holdfast.tf\n" + QUICKLY)
    return job.done(quickly, f"worker:{index}", TF_CONFIG=config)


QUICKLY = "from holdfast.in_task import agreeing\nagreeing.agree.__kwdefaults__['wait_s'] = 0.2\n"


def test_steps_are_told_exactly_and_a_loss_that_is_no_number_is_noticed(job: Job) -> None:
    job.watch()
    job.start(program(3, 1e18, 3))
    told = job.heard(LossTold, lambda fact: fact.state == "nan")
    assert told.since_step > 0
    last = job.heard(StepsSeen, lambda fact: fact.step == 24)
    assert last.source == "told"


def test_the_task_that_has_built_another_model_is_named_before_the_first_step(job: Job) -> None:
    done = as_worker(job, 0, program(3, 0.1, 1))
    assert done.returncode == 0, done.stderr
    assert "trained 8" in done.stdout
    assert "no fingerprint of worker:1, worker:2 within 0.2 s" in done.stderr
    # Tasks that do not make each step together may differ: nobody compares them unasked.
    asked = program(7, 0.1, 1).replace("compare=True", "")
    assert as_worker(job, 1, asked).returncode == 0
    # Another one that has built the same.
    first = job.folder / "fingerprint.1.1.worker-0.json"
    first.with_name("fingerprint.1.1.worker-2.json").write_text(first.read_text())
    job.watch()
    config = json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}})
    process = job.start(program(5, 0.5, 1), "worker:1", TF_CONFIG=config)
    told = job.heard(DifferenceTold, lambda fact: fact.name == "learning_rate")
    assert set(told.values.values()) == {("worker:0", "worker:2"), ("worker:1",)}
    assert process.wait(60) == 1
    assert (job.run_dir.path / "logs/worker-1.1.out").read_bytes() == b""
    said = (job.run_dir.path / "logs/worker-1.1.err").read_text()
    assert "Disagreement: the tasks of this job have not built the same" in said
    kernel = r"variable \S*dense/kernel: float32 \[4, 3\] in worker:0, worker:2; "
    assert re.search(kernel + r"float32 \[4, 5\] in worker:1", said)
    assert "layer 0 units: 3 in worker:0, worker:2; 5 in worker:1" in said
    assert "worker:1 differs from most tasks." in said
