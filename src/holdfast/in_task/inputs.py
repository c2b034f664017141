"""What a training reads, in words that can be compared: elements, batches, shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

COMPONENTS_MAX = 200
STAGES_MAX = 1_000
ITERATORS_MAX = 8
SHARD = "shard"  # the one facet that must not be the same in two tasks
YIELDS = frozenset({"IteratorGetNext", "IteratorGetNextSync"})
if TYPE_CHECKING:  # a Python before 3.9 cannot make it
    Facet = list[Any]  # about, name, value, whether a difference stops the training


def of_dataset(dataset: Any) -> list[Facet]:
    """Of a tf.data.Dataset, or whatever has an `element_spec`."""
    found: list[Facet] = []
    sizes, shards = _stages(dataset)
    for name, spec in _components(getattr(dataset, "element_spec", None)):
        first, inner = _split(getattr(spec, "shape", None))
        found.append(["input", "element" + name, f"{_dtype(spec)} {inner}", True])
        if not sizes:
            found.append(["input", "batch size" + name, first, False])
    if sizes:
        found.append(["input", "batch size", ", ".join(sizes), False])
    for index, number in shards:
        found.append(["input", "number of shards", number, True])
        found.append(["input", SHARD, f"{index} of {number}", False])
    for name, ask in (("sharding", _sharding), ("number of elements", _cardinality)):
        try:
            found.append(["input", name, ask(dataset), name == "sharding"])
        except Exception:  # noqa: BLE001 - a distributed dataset may not tell
            pass
    return found[:COMPONENTS_MAX]


def of_graph() -> list[Facet]:
    """Of TensorFlow 1's default graph: what its iterators yield."""
    found: list[Facet] = []
    operations = tf.compat.v1.get_default_graph().get_operations()
    gets = [one for one in operations if one.type in YIELDS][:ITERATORS_MAX]
    for number, get in enumerate(gets):
        which = f" of iterator {number + 1}" if number else ""
        for place, output in enumerate(get.outputs):
            first, inner = _split(output.shape)
            name = f"[{place}]{which}" if len(get.outputs) > 1 else which
            found.append(["input", "element" + name, f"{_dtype(output)} {inner}", True])
            found.append(["input", "batch size" + name, first, False])
    return found[:COMPONENTS_MAX]


def _dtype(spec: Any) -> str:
    return str(getattr(getattr(spec, "dtype", None), "name", type(spec).__name__))


def _stages(dataset: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """The sizes of its batches, and its shards as index and number, the last stage first.

    By names that are TensorFlow's own: where it has others by now, nothing is known.
    """
    sizes: list[str] = []
    shards: list[tuple[str, str]] = []
    waiting, looked = [dataset], 0
    try:
        while waiting and looked < STAGES_MAX:
            stage = waiting.pop(0)
            looked += 1
            if type(stage).__name__ == "DatasetV1Adapter":
                waiting.append(stage._dataset)  # noqa: SLF001
                continue
            if hasattr(stage, "_batch_size"):
                sizes.append(_number(stage._batch_size))  # noqa: SLF001
            if hasattr(stage, "_num_shards") and hasattr(stage, "_index"):
                shards.append((_number(stage._index), _number(stage._num_shards)))  # noqa: SLF001
            waiting += stage._inputs()  # noqa: SLF001
    except Exception:  # noqa: BLE001 - not a dataset of ours, or of another TensorFlow
        return [], []
    return sizes, shards


def _number(tensor: Any) -> str:
    found = tf.get_static_value(tensor)
    return "?" if found is None else str(int(found))


def _components(spec: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(spec, Mapping):
        parts = [(str(key), spec[key]) for key in sorted(spec, key=str)]
    elif isinstance(spec, (list, tuple)):
        parts = [(str(number), one) for number, one in enumerate(spec)]
    else:
        return [] if spec is None else [(name, spec)]
    return [found for key, one in parts for found in _components(one, f"{name}[{key}]")][
        :COMPONENTS_MAX
    ]


def _split(shape: Any) -> tuple[str, str]:
    """The first size, most often the batch's, and the rest."""
    try:
        sizes = ["?" if size is None else str(size) for size in shape]
    except (ValueError, TypeError):
        return "?", "[...]"
    return (sizes[0] if sizes else "none"), "[{}]".format(
        ", ".join(["*", *sizes[1:]][: len(sizes)])
    )


def _sharding(dataset: Any) -> str:
    policy = dataset.options().experimental_distribute.auto_shard_policy
    return str(getattr(policy, "name", policy))


def _cardinality(dataset: Any) -> str:
    number = int(dataset.cardinality())
    return {-1: "infinite", -2: "unknown"}.get(number, str(number))
