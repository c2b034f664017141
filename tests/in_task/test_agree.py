"""What two tasks have built is compared as a difference, whoever is first, and for how long."""

import json
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
