"""What two tasks have built is compared as a difference, whoever is first, and for how long."""

import json
import os
from typing import Any

import pytest
from tests.in_task.conftest import Job

from holdfast.in_task.differences import differences

MAKERS = """
import sys, time, tensorflow as tf, holdfast.tf
strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
seen = []
def make():
    seen.append(tf.distribute.get_strategy().__class__.__name__)
    return [tf.Variable(tf.zeros((3, 2)), name="kernel")]
with strategy.scope():
    began_s = time.monotonic()
    agreed = holdfast.tf.agree(make, wait_s=0.3)
    took_s = time.monotonic() - began_s
print(seen, agreed.unanswered, 0.3 <= took_s < 5)
data = tf.data.Dataset.range(8).batch(4, drop_remainder=True)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
holdfast.tf.agree(tf.Module(), data.with_options(options), wait_s=0)
import os
for role in ("evaluator", "ps"):
    os.environ["HOLDFAST_TASK"] = role + ":0"
    print(holdfast.tf.agree([]) == holdfast.tf.Agreement())
"""


def print_of(*variables: tuple[str, str], by_name: bool = False, **facets: str) -> dict[str, Any]:
    made = [["setting", name, value, True] for name, value in facets.items()]
    return {"variables": [list(one) for one in variables], "facets": made, "by_name": by_name}


def told(**prints: dict[str, Any]) -> list[str]:
    return [str(one) for one in differences({f"worker:{n[1:]}": p for n, p in prints.items()})]


def test_a_model_is_made_once_more_outside_of_any_strategy_and_nobody_is_waited_for_long(
    job: Job,
) -> None:
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    done = job.done(MAKERS, TF_CONFIG=json.dumps(config))
    assert done.returncode == 0, done.stderr
    assert "['_DefaultDistributionStrategy'] ('worker:1',) True" in done.stdout
    assert done.stdout.endswith("True\nTrue\n"), "who does not train is compared with nobody"
    second = json.loads((job.folder / "fingerprint.1.2.worker-0.json").read_text())
    facets = {(about, name): (what, stops) for about, name, what, stops in second["facets"]}
    assert facets["input", "element"] == ("int64 [*]", True)
    assert facets["input", "batch size"] == ("4", False)
    assert facets["input", "sharding"] == ("OFF", True)
    assert facets["input", "number of elements"] == ("2", False)
    assert ("version", "numpy") in facets
    assert ("setting", "deterministic ops") in facets


@pytest.mark.parametrize("names", [("dense", "dense_1"), ("dense_7", "dense_8")])
def test_numbers_that_keras_adds_to_names_are_no_difference(names: tuple[str, str]) -> None:
    first = print_of(("dense/kernel:0", "float32 [1]"), ("dense_1/kernel:0", "float32 [2]"))
    second = print_of(*((f"{name}/kernel", f"float32 [{n + 1}]") for n, name in enumerate(names)))
    assert told(w0=first, w1=second) == []


def test_a_variable_that_only_one_has_is_missing_in_the_others() -> None:
    most, odd = print_of(("a", "float32 []")), print_of(("a", "float32 []"), ("b", "float32 []"))
    assert told(w0=most, w1=odd, w2=most) == [
        "variable b: missing in worker:0, worker:2; float32 [] in worker:1"
    ]


def test_the_same_variables_in_another_order_differ_where_collectives_count_them() -> None:
    one = print_of(("a", "float32 []"), ("b", "float32 []"))
    other = print_of(("b", "float32 []"), ("a", "float32 []"))
    assert told(w0=one, w1=other) == ["variable order: a, b in worker:0; b, a in worker:1"]
    named = [{**one, "by_name": True}, {**other, "by_name": True}]
    assert told(w0=named[0], w1=named[1]) == []


def test_who_is_odd_takes_a_majority() -> None:
    (found,) = differences({"worker:0": print_of(x="1"), "worker:1": print_of(x="2")})
    assert found.odd == []
    three = {f"worker:{n}": print_of(x="2" if n == 10 else "1") for n in (0, 9, 10)}
    (found,) = differences(three)
    assert found.odd == ["worker:10"]
    assert str(found) == "setting x: 1 in worker:0, worker:9; 2 in worker:10"


def test_a_long_value_is_cut_and_many_tasks_are_counted() -> None:
    prints = {f"worker:{n}": print_of(x="y" * 2_000 if n else "z") for n in range(12)}
    (found,) = differences(prints)
    assert len(str(found)) < 700
    assert "and 3 more" in str(found)


def test_nobody_is_odd_before_most_of_all_tasks_have_answered() -> None:
    """Of five, the first two may be the wrong ones."""
    early = {f"worker:{n}": print_of(x="old" if n < 2 else "new") for n in range(3)}
    (found,) = differences(early, tasks=5)
    assert found.odd == []
    late = {f"worker:{n}": print_of(x="old" if n < 2 else "new") for n in range(5)}
    (found,) = differences(late, tasks=5)
    assert found.odd == ["worker:0", "worker:1"]


def test_an_order_that_differs_after_many_variables_is_found_where_it_begins() -> None:
    names = [f"a_long_name_of_a_layer_number_{chr(97 + n)}/kernel" for n in range(26)]
    one = print_of(*((name, "float32 []") for name in names))
    turned = [*names[:-2], names[-1], names[-2]]
    other = print_of(*((name, "float32 []") for name in turned))
    (found,) = told(w0=one, w1=other)
    assert found.startswith(f"variable order: {names[-2]}, {names[-1]} in worker:0; ")


def with_keras(version: str, path: str, **more: Any) -> dict[str, Any]:
    made = print_of((f"{path}dense/kernel", "float32 [4, 1]"), (f"{path}dense/bias", "float32 [1]"))
    facets = [["version", "keras", version, False], ["layer", "0 class", "Dense", True]]
    facets += [["optimizer", name, value, True] for name, value in more.items()]
    return {**made, "facets": facets}


def test_what_another_keras_calls_by_other_names_is_no_difference() -> None:
    old = with_keras("2.15.0", "", is_legacy_optimizer="False", decay="0.0")
    new = with_keras("3.15.1", "sequential/", loss_scale_factor="null")
    assert told(w0=new, w1=old) == ["version keras: 3.15.1 in worker:0; 2.15.0 in worker:1"]
    wider = {**old, "variables": [["dense/kernel:0", "float32 [4, 2]"], old["variables"][1]]}
    first, _ = told(w0=new, w1=wider)
    assert first == "variable kernel: float32 [4, 1] in worker:0; float32 [4, 2] in worker:1"


def reading(shard: str) -> dict[str, Any]:
    return {**print_of(), "facets": [["input", "shard", shard, False]]}


def test_one_shard_that_two_tasks_read_is_told_where_there_is_one_for_each() -> None:
    assert told(w0=reading("0 of 3"), w1=reading("1 of 3"), w2=reading("2 of 3")) == []
    shards = ("0 of 3", "0 of 3", "2 of 3")
    twice = {f"worker:{n}": reading(shard) for n, shard in enumerate(shards)}
    (found,) = differences(twice, tasks=3)
    assert str(found) == "input shard: 0 of 3 in worker:0, worker:1"
    assert (found.odd, found.stops) == ([], False)
    # Two hosts with two tasks each may share what they read.
    assert told(w0=reading("0 of 2"), w1=reading("0 of 2"), w2=reading("1 of 2")) == []


def test_who_builds_nothing_misses_nothing_but_its_versions_are_compared() -> None:
    built = [["layer", "0 units", "3", True], ["version", "numpy", "2.1", False]]
    builder = {**print_of(("a", "float32 []")), "facets": built}
    server = {"variables": [], "builds": False, "facets": [["version", "numpy", "1.26", False]]}
    found = differences({"worker:0": builder, "ps:0": server})
    assert [str(one) for one in found] == ["version numpy: 1.26 in ps:0; 2.1 in worker:0"]


def with_versions(**versions: str) -> dict[str, Any]:
    facets = [["version", name, version, False] for name, version in versions.items()]
    return {**print_of(("a", "float32 []")), "facets": facets}


def test_patches_and_what_fits_by_its_own_rules_are_no_difference() -> None:
    one = with_versions(python="3.11.7", numpy="2.3.1", protobuf="5.29.1", tensorflow="2.21.0")
    near = with_versions(python="3.11.9", numpy="2.4.6", protobuf="6.31.1", tensorflow="2.21.1")
    assert told(w0=one, w1=near) == []
    far = with_versions(python="3.12.1", numpy="2.4.6", protobuf="7.36.2", tensorflow="2.21.1")
    assert told(w0=one, w1=near, w2=far) == [
        "version protobuf: 5.29.1 in worker:0; 6.31.1 in worker:1; 7.36.2 in worker:2",
        "version python: 3.11.7 in worker:0; 3.11.9 in worker:1; 3.12.1 in worker:2",
    ]


SERVER = """
import holdfast.tf
print(holdfast.tf.agree(wait_s=60))
"""


@pytest.mark.parametrize("task", ["ps:0", "worker:0", "chief:0"])
def test_servers_and_who_uses_them_wait_for_nobody_and_compare_versions(
    job: Job, task: str
) -> None:
    theirs = {"variables": [], "builds": False, "facets": [["version", "numpy", "0.1", False]]}
    (job.folder / "fingerprint.1.1.worker-1.json").write_text(json.dumps(theirs))
    cluster = {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1", "d:1"]}
    role, _, index = task.partition(":")
    config = {"cluster": cluster, "task": {"type": role, "index": int(index)}}
    done = job.done(SERVER, task, TF_CONFIG=json.dumps(config))
    assert done.returncode == 0, done.stderr
    assert "Agreement(compared=('worker:1',), unanswered=()" in done.stdout
    assert "not the same in all tasks: version numpy: " in done.stderr
    written = json.loads((job.folder / f"fingerprint.1.1.{role}-{index}.json").read_text())
    assert (written["builds"], written["variables"]) == (False, [])


def test_a_task_that_is_started_again_is_compared_with_what_the_others_wrote_long_ago(
    job: Job,
) -> None:
    path = job.folder / "fingerprint.1.1.worker-1.json"
    path.write_text(json.dumps({"variables": [["kernel", "float32 [9]"]], "facets": []}))
    os.utime(path, (1.0, 1.0))
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    code = """
import tensorflow as tf, holdfast.tf
holdfast.tf.agree([tf.Variable(tf.zeros(3), name="kernel")], wait_s=0)
"""
    done = job.done(code, TF_CONFIG=json.dumps(config))
    assert "variable kernel: float32 [3] in worker:0; float32 [9] in worker:1" in done.stderr


STAGES = """
import json, tensorflow as tf, holdfast.tf
data = tf.data.Dataset.range(64).shard(3, 1).batch(8).prefetch(2)
holdfast.tf.agree([], data, wait_s=0)
"""


def test_batches_and_shards_are_known_also_where_the_last_batch_may_be_smaller(job: Job) -> None:
    config = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
    done = job.done(STAGES, TF_CONFIG=json.dumps(config))
    assert done.returncode == 0, done.stderr
    found = json.loads((job.folder / "fingerprint.1.1.worker-0.json").read_text())
    facets = {(about, name): (what, stops) for about, name, what, stops in found["facets"]}
    assert facets["input", "batch size"] == ("8", False)
    assert facets["input", "number of shards"] == ("3", True)
    assert facets["input", "shard"] == ("1 of 3", False)
