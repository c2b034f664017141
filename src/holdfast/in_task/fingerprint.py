"""What a task has built, in words that can be compared: variables, model, input, versions."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from . import graphs, inputs, place

FORMAT = "holdfast-fingerprint/1"
VARIABLES_MAX, LAYERS_MAX = 20_000, 1_000
CONFIG_LENGTH_MAX = 300
# Of what names, seeds and the host's own devices make different.
NOT_COMPARED = frozenset(
    {"seed", "jit_compile", "build_config", "compile_config", "shared_object_id", "module"}
)
if TYPE_CHECKING:  # a Python before 3.9 cannot make it
    Facet = list[Any]  # about, name, value, whether a difference stops the training
LOCKSTEP = ("MultiWorker", "CollectiveAllReduce")
SERVES, COORDINATES = "ps", "ParameterServerStrategyV2"


def fingerprint(
    model: Any = None, dataset: Any = None, *, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Of a Keras model, a tf.Module, variables, or else of TensorFlow 1's default graph."""
    strategy = _strategy(model)
    variables, by_name = _variables(model)
    facets = [
        ["strategy", "class", type(strategy).__name__, True],
        ["strategy", "replicas in sync", str(_replicas(strategy)), True],
        *_layers(model),
        *_compiled(model),
        *_read(model, dataset),
    ]
    steps_stop = is_lockstep(model)
    for name, value in (settings or {}).items():
        facets.append(["input", str(name), str(value), steps_stop])
    shown = [[name, what] for name, what in variables[:VARIABLES_MAX]]
    built = {"variables": shown, "by_name": by_name, "builds": True}
    alone = surroundings()
    return {**alone, **built, "facets": [*facets, *alone["facets"]]}


def surroundings() -> dict[str, Any]:
    """Of a task that builds nothing: all that it can differ in is what it runs with."""
    facets = [*_versions(), *_settings()]
    return {"format": FORMAT, "variables": [], "builds": False, "facets": facets}


def only_serves(model: Any) -> bool:
    """Whether this task builds nothing that others build, too: a server, or who uses servers.

    With parameter servers, a program of TensorFlow 2 has one task that builds for all of them; in
    one of TensorFlow 1 each worker builds a graph.
    """
    if place.task().partition(":")[0] == SERVES:
        return True
    if type(_strategy(model)).__name__ == COORDINATES:
        return True
    return bool(place.cluster().get(SERVES)) and bool(tf.executing_eagerly())


def is_lockstep(model: Any) -> bool:
    """Whether all tasks make each step together: then what differs is a mistake."""
    return type(_strategy(model)).__name__.startswith(LOCKSTEP)


def _read(model: Any, dataset: Any) -> list[Facet]:
    """What it learns from, and in a graph with which ops."""
    in_graph = model is None and not tf.executing_eagerly()
    ops = graphs.trained_ops() if in_graph else []
    if dataset is not None:
        return inputs.of_dataset(dataset) + ops
    return (inputs.of_graph() if in_graph else []) + ops


def _variables(model: Any) -> tuple[list[tuple[str, str]], bool]:
    if model is None:
        found, by_name = tf.compat.v1.global_variables(), True
    elif isinstance(model, Iterable) and not hasattr(model, "variables"):
        found, by_name = list(model), False
    else:
        found, by_name = _of_model(model), False
    return [_variable(one) for one in found], by_name


def _of_model(model: Any) -> list[Any]:
    try:
        return list(model.variables)
    except Exception:  # noqa: BLE001 - it has none before it has seen its first input
        return []


def _variable(one: Any) -> tuple[str, str]:
    name = getattr(one, "path", None) or getattr(one, "name", "?")
    dtype = getattr(one.dtype, "base_dtype", one.dtype)
    return str(name), "{} {}".format(getattr(dtype, "name", dtype), _shape(one.shape))


def _shape(shape: Any) -> str:
    try:
        return "[{}]".format(", ".join("?" if size is None else str(size) for size in shape))
    except (ValueError, TypeError):  # its rank is not known
        return "[...]"


def _strategy(model: Any) -> Any:
    return getattr(model, "distribute_strategy", None) or tf.distribute.get_strategy()


def _replicas(strategy: Any) -> Any:
    try:
        return strategy.num_replicas_in_sync
    except Exception:  # noqa: BLE001 - a parameter server strategy may refuse
        return "?"


def _layers(model: Any) -> list[Facet]:
    found: list[Facet] = []
    for number, layer in enumerate(_flattened(model)[:LAYERS_MAX]):
        found += _set(layer, "layer", f"{number} ")
    return found


def _flattened(model: Any) -> list[Any]:
    """The layers of a model, and of the models in it."""
    found: list[Any] = []
    for layer in list(getattr(model, "layers", None) or ())[:LAYERS_MAX]:
        inner = _flattened(layer)
        found += inner or [layer]
    return found


def _compiled(model: Any) -> list[Facet]:
    found: list[Facet] = []
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        found += _set(optimizer, "optimizer", "")
    loss = getattr(model, "loss", None)
    if loss is not None:
        found.append(["loss", "function", _described(loss), True])
    return found


def _set(thing: Any, about: str, name: str) -> list[Facet]:
    """What it is, and each way in which it was set."""
    found: list[Facet] = [[about, name + "class", type(thing).__name__, True]]
    try:
        config = _comparable(thing.get_config())
    except Exception:  # noqa: BLE001 - not everything can say how it was set
        return found
    return found + [[about, name + key, _json(value), True] for key, value in config.items()]


def _described(thing: Any) -> str:
    """A loss, by whichever of the many ways it may be given."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, Mapping):
        return _json({str(key): _described(value) for key, value in thing.items()})
    if isinstance(thing, (list, tuple)):
        return _json([_described(one) for one in thing])
    kind = getattr(thing, "__name__", None) or type(thing).__name__
    try:
        return f"{kind} {_json(_comparable(thing.get_config()))}"
    except Exception:  # noqa: BLE001 - a function
        return str(kind)


def _comparable(value: Any, *, inner: bool = False) -> Any:
    """Without what is different for no reason: the name of a layer, a seed that was drawn."""
    if isinstance(value, Mapping):
        names = {"name"} if not inner or "trainable" in value else set()
        kept = {str(key): one for key, one in value.items() if key not in NOT_COMPARED | names}
        return {key: _comparable(one, inner=True) for key, one in kept.items()}
    if isinstance(value, (list, tuple)):
        return [_comparable(one, inner=True) for one in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(number: float) -> float:
    """As exact as a float32: 0.1 may have been one on its way, and then has more digits."""
    return float(f"{number:.7g}")


def _json(value: Any) -> str:
    """Cut where it is long, but not so that a difference is lost."""
    text = json.dumps(value, sort_keys=True, default=_plainly)
    if len(text) <= CONFIG_LENGTH_MAX:
        return text
    whole = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[:CONFIG_LENGTH_MAX]}... ({whole})"


def _plainly(value: Any) -> str:
    """Its number or its kind; never its address, which is another one in every process."""
    try:
        return repr(_rounded(float(value)))
    except Exception:  # noqa: BLE001
        return type(value).__name__


def _versions() -> list[Facet]:
    versions = {"tensorflow": tf.__version__, "python": platform.python_version()}
    for name in ("numpy", "keras", "google.protobuf"):
        found = getattr(sys.modules.get(name), "__version__", None)
        if found:
            versions[name.rpartition(".")[2]] = str(found)
    return [["version", name, version, False] for name, version in sorted(versions.items())]


def _settings() -> list[Facet]:
    found = [["setting", name, value, False] for name, value in place.seeds_given().items()]
    try:
        from tensorflow.python.framework import config  # noqa: PLC0415 - it has no public name

        deterministic = str(bool(config.is_op_determinism_enabled()))
        found.append(["setting", "deterministic ops", deterministic, False])
    except (ImportError, AttributeError):
        pass
    return found
