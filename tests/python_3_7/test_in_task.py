"""What runs inside of a task, on Python 3.7 for real: `make test-python-3.7`, not `make test`.

There TensorFlow 1.15 and 2.11 are; each has an environment of its own below .envs.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.in_task.conftest import Job

from holdfast.model.told_facts import DifferenceTold, LossTold
from holdfast.model.watch_facts import StepsSeen

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # environments come from bench/
from bench.output.envs import bin_of

BEGIN = """
import json, os, sys
import numpy as np, tensorflow as tf
import holdfast.tf
tf1 = tf.compat.v1
"""
GUARDED = (
    BEGIN
    + """
from holdfast import guarding
guarding.FIRST_WAIT_S = 0.01
LOST = "failed to connect to all addresses; /job:worker/replica:0/task:1/device:CPU:0"
calls = []
@holdfast.tf.guard(retries_max=2)
def call(times):
    calls.append(times)
    if len(calls) <= times:
        raise tf.errors.UnavailableError(None, None, LOST)
    return "passed"
print(call(2), len(calls))
call(99)
"""
)
COMPARED = (
    BEGIN
    + """
tf1.disable_eager_execution()
size = 5 if os.environ["HOLDFAST_TASK"] == os.environ["ODD"] else 3
kernel = tf1.get_variable("kernel", (2, size))
data = tf.data.Dataset.from_tensor_slices(np.zeros((64, 4), "float32")).batch(8, True)
try:
    agreed = holdfast.tf.agree([kernel], data, wait_s=120)
    print(json.dumps([agreed.compared, agreed.unanswered, list(map(str, agreed.differences))]))
except holdfast.tf.Disagreement as error:
    print(error)
"""
)
FIT = (
    BEGIN
    + """
layers = [tf.keras.layers.Dense(3, input_shape=(4,)), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile(tf.keras.optimizers.SGD(1e18), "mse")
x = np.ones((64, 4), "float32")
model.fit(x, x[:, :1], 8, epochs=3, verbose=0, callbacks=[holdfast.tf.Callback(compare=True)])
sys.stdin.read()
"""
)
SESSION = (
    BEGIN
    + """
tf1.disable_eager_execution()
weight = tf1.get_variable("weight", shape=[2], initializer=tf1.zeros_initializer())
step = tf1.train.get_or_create_global_step()
loss = tf1.reduce_sum(tf1.square(weight - 1.0))
train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
hooks = [holdfast.tf.Hook(loss=loss, compare=True), tf1.train.StopAtStepHook(num_steps=500)]
with tf1.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
places = holdfast.tf.logdir("/data")
with holdfast.tf.may_write():
    print(places.is_chief, places.restore_from, flush=True)
sys.stdin.read()
"""
)
HDF5 = """
import sys
import h5py
try:
    file = h5py.File(sys.argv[1], "a")
except OSError as error:
    print("stopped:", error, flush=True)
    sys.exit(3)
print("open", flush=True)
sys.stdin.readline()
file["x"] = 1.0
file.close()
with h5py.File(sys.argv[1], "r") as file:
    print(file["x"][()], flush=True)
"""


@pytest.fixture(params=["tensorflow-1.15", "tensorflow-2.11"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path / "run", python=str(bin_of(request.param) / "python"))
    yield found
    found.close()


def as_worker(index: int) -> dict[str, str]:
    cluster = {"worker": ["a:1", "b:1"]}
    return {
        "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
    }


def test_the_guard_tries_again_writes_down_and_prints_what_is_known(job: Job) -> None:
    done = job.done(GUARDED)
    assert done.stdout == "passed 3\n", done.stderr
    assert "holdfast: UNAVAILABLE; speaks of worker:1; tried 3 times over" in done.stderr
    (path,) = job.folder.glob("worker-0.*.errors.jsonl")
    tries = [json.loads(line)["tries"] for line in path.read_text().splitlines()]
    assert tries == [1, 2, 1, 2, 3]
    (last_words,) = job.folder.glob("worker-0.*.last-words.json")
    assert "UnavailableError" in json.loads(last_words.read_text())["exception"]


def test_what_python_3_7_cannot_do_is_said_once_and_all_else_works(job: Job) -> None:
    done = job.done("import holdfast\nholdfast.progress(1)\nholdfast.progress(2)\nprint('on')")
    assert done.stdout == "on\n"
    assert done.stderr == (
        "holdfast: what ends a thread is not written down (Python 3.7 has no threading.excepthook);"
        " all else works\n"
    )


@pytest.mark.parametrize("odd", ["", "worker:1"])
def test_tasks_that_run_at_once_are_compared(job: Job, odd: str) -> None:
    job.watch()
    tasks = [
        job.start(COMPARED, f"worker:{index}", ODD=odd, **as_worker(index)) for index in (0, 1)
    ]
    assert [task.wait() for task in tasks] == [0, 0]
    said = (job.run_dir.path / "logs" / "worker-0.1.out").read_text()
    if odd:
        assert "variable kernel: float32 [2, 3] in worker:0; float32 [2, 5] in worker:1" in said
        assert job.heard(DifferenceTold, lambda fact: fact.about == "variable").stops
    else:
        assert json.loads(said) == [["worker:1"], [], []]


def test_the_keras_callback_tells_steps_and_a_loss_that_is_no_number(job: Job) -> None:
    job.watch()
    job.start(FIT)
    assert job.heard(LossTold, lambda fact: fact.state == "nan").since_step > 0
    assert job.heard(StepsSeen, lambda fact: fact.step == 24).source == "told"


def test_the_hook_tells_steps_and_the_logdir_who_is_chief(job: Job) -> None:
    job.watch()
    job.start(SESSION)
    assert job.heard(StepsSeen, lambda fact: fact.step == 500).source == "told"


def test_a_second_writer_of_an_hdf5_file_is_stopped_by_name(job: Job, tmp_path: Path) -> None:
    env = {"HOLDFAST_GUARD_HDF5": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
    code = HDF5.replace("sys.argv[1]", repr(str(tmp_path / "all.h5")))
    first = job.start(code, **env)
    out = job.run_dir.path / "logs" / "worker-0.1.out"
    while "open" not in out.read_text():
        assert first.poll() is None, (job.run_dir.path / "logs" / "worker-0.1.err").read_text()
    second = job.done(code, "worker:1", **env)
    assert second.returncode == 3, second.stderr
    assert f"held for writing by -c (pid {first.pid} on" in second.stdout
    first.communicate(b"\n")
    assert out.read_text() == "open\n1.0\n"
