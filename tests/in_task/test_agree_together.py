"""Tasks that run at once compare what each of them has built: which thing, which task, how soon."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.in_task.conftest import WORD_S_MAX, Job

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskExited
from holdfast.model.told_facts import DifferenceTold

# One call of `agree` after the other, in each of three processes: TensorFlow is imported once.
PROGRAM = """
import json, os, sys, time
import tensorflow as tf
import holdfast.tf
me = os.environ["HOLDFAST_TASK"]
keras = tf.keras
found = {}

def variable(dtype="float32", shape=(3, 2)):
    return [tf.Variable(tf.zeros(shape, dtype), name="kernel")]

def compiled(units=3, rate=0.1, loss="mse", activation="relu"):
    layers = [keras.layers.Input((4,)), keras.layers.Dense(units, activation=activation)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(rate), loss)
    return model

def data(width=4, batch=8, policy="AUTO", dtype="float32"):
    made = tf.data.Dataset.from_tensor_slices(tf.zeros((64, width), dtype)).batch(batch, True)
    options = tf.data.Options()
    policies = tf.data.experimental.AutoShardPolicy
    options.experimental_distribute.auto_shard_policy = getattr(policies, policy)
    return made.with_options(options)

def compare(name, odd, model=None, dataset=None, **asked):
    began_s = time.monotonic()
    try:
        agreed = holdfast.tf.agree(model, dataset, wait_s=asked.get("wait_s", 20.0))
        outcome = {"differences": list(map(str, agreed.differences)), "raised": False,
                   "unanswered": agreed.unanswered, "compared": agreed.compared}
    except holdfast.tf.Disagreement as error:
        outcome = {"differences": list(map(str, error.differences)), "raised": True,
                   "odd": sorted({who for one in error.differences for who in one.odd}),
                   "said": str(error)}
    found[name] = {**outcome, "took_s": time.monotonic() - began_s}

def first(name, odd, **differs):
    compare(name, odd, variable(**(differs if me == odd else {})))

def model(name, odd, **differs):
    compare(name, odd, compiled(**(differs if me == odd else {})), data())

def given(name, odd, **differs):
    compare(name, odd, compiled(), data(**(differs if me == odd else {})))

first("met", "nobody")  # from here on all of them are up
model("equal", "nobody")
first("dtype", "worker:2", dtype="float64")
first("shape", "worker:1", shape=(3, 5))
model("units", "worker:0", units=5)
model("optimizer", "worker:1", rate=0.5)
model("loss", "worker:2", loss="mae")
model("graph", "worker:1", activation="tanh")
given("element", "worker:2", width=5)
given("element type", "worker:0", dtype="float64")
given("sharding", "worker:1", policy="OFF")
given("batch size", "worker:1", batch=16)
if me == "worker:1":
    tf.__version__ = "2.99.0"
first("version", "worker:1")
if me != "worker:2":
    compare("missing", "worker:2", variable(), wait_s=1.0)
print(json.dumps(found), flush=True)
"""
TASKS = ("worker:0", "worker:1", "worker:2")
SECONDS_MAX = 10.0


class Met(NamedTuple):
    found: dict[str, dict[str, Any]]  # by task, what each call of `agree` came to
    said: dict[str, str]  # on standard error
    told: list[DifferenceTold]


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Met]:
    job = Job(tmp_path_factory.mktemp("agree") / "run")
    job.watch()
    cluster = {"worker": ["a:1", "b:1", "c:1"]}
    processes = []
    for index, task in enumerate(TASKS):
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        processes.append(job.start(PROGRAM, task, TF_CONFIG=json.dumps(config)))
    codes = [process.wait(2 * WORD_S_MAX) for process in processes]
    job.heard(DifferenceTold, lambda fact: fact.name == "sharding")
    logs = job.run_dir.path / "logs"
    said = {task: (logs / f"worker-{n}.1.err").read_text() for n, task in enumerate(TASKS)}
    assert codes == [0, 0, 0], said
    found = {
        task: json.loads((logs / f"worker-{n}.1.out").read_text()) for n, task in enumerate(TASKS)
    }
    yield Met(found, said, [fact for fact in job.facts if isinstance(fact, DifferenceTold)])
    job.close()


def test_tasks_that_have_built_the_same_hear_nothing(met: Met) -> None:
    for task in TASKS:
        equal = met.found[task]["equal"]
        assert (equal["differences"], equal["raised"]) == ([], False)
        assert sorted([task, *equal["compared"]]) == list(TASKS)


@pytest.mark.parametrize(
    ("case", "odd", "difference"),
    [
        (
            "dtype",
            "worker:2",
            "variable kernel: float32 [3, 2] in worker:0, worker:1; float64 [3, 2] in worker:2",
        ),
        (
            "shape",
            "worker:1",
            "variable kernel: float32 [3, 2] in worker:0, worker:2; float32 [3, 5] in worker:1",
        ),
        ("units", "worker:0", "layer 0 units: 3 in worker:1, worker:2; 5 in worker:0"),
        (
            "optimizer",
            "worker:1",
            "optimizer learning_rate: 0.1 in worker:0, worker:2; 0.5 in worker:1",
        ),
        ("loss", "worker:2", "loss function: mse in worker:0, worker:1; mae in worker:2"),
        (
            "graph",
            "worker:1",
            'layer 0 activation: "relu" in worker:0, worker:2; "tanh" in worker:1',
        ),
        (
            "element",
            "worker:2",
            "input element: float32 [*, 4] in worker:0, worker:1; float32 [*, 5] in worker:2",
        ),
        (
            "element type",
            "worker:0",
            "input element: float32 [*, 4] in worker:1, worker:2; float64 [*, 4] in worker:0",
        ),
        ("sharding", "worker:1", "input sharding: AUTO in worker:0, worker:2; OFF in worker:1"),
    ],
)
def test_a_difference_names_the_thing_and_the_task_in_every_task_and_within_seconds(
    met: Met, case: str, odd: str, difference: str
) -> None:
    for task in TASKS:
        outcome = met.found[task][case]
        assert outcome["raised"], (case, task)
        assert difference in outcome["differences"], outcome["differences"]
        assert outcome["odd"] == [odd]
        assert f"{odd} differs from most tasks." in outcome["said"]
        assert outcome["took_s"] < SECONDS_MAX


@pytest.mark.parametrize(
    ("case", "difference"),
    [
        ("batch size", "input batch size: 8 in worker:0, worker:2; 16 in worker:1"),
        ("version", "version tensorflow: "),
    ],
)
def test_what_may_differ_without_harm_is_told_and_stops_nobody(
    met: Met, case: str, difference: str
) -> None:
    for task in TASKS:
        outcome = met.found[task][case]
        assert not outcome["raised"]
        (told,) = [one for one in outcome["differences"] if one.startswith(difference)]
        assert f"holdfast: not the same in all tasks: {told}" in met.said[task]
    assert told.endswith("2.99.0 in worker:1") or case == "batch size"


def test_nobody_waits_for_ever_for_a_task_that_does_not_come(met: Met) -> None:
    for task in ("worker:0", "worker:1"):
        outcome = met.found[task]["missing"]
        assert outcome["unanswered"] == ["worker:2"]
        assert 1.0 <= outcome["took_s"] < SECONDS_MAX
        says = "compared with 1 of 2 other tasks; no fingerprint of worker:2 within 1 s"
        assert f"{says}; tasks on other hosts need a folder that all share" in met.said[task]


def test_whoever_watches_is_told_and_names_the_odd_one(met: Met) -> None:
    shape = [fact for fact in met.told if any("[3, 5]" in what for what in fact.values)]
    assert {str(fact.task) for fact in shape} == set(TASKS)
    ends = [
        TaskExited(at_s=1e6, host="host-a", task=TaskId("worker", index), exit_code=1)
        for index in range(3)
    ]
    first = diagnose(Evidence((*shape, *ends))).findings[0]
    assert (first.name, str(first.proof.culprit)) == ("variable-mismatch", "worker:1")
