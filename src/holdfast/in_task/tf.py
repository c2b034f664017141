"""What a TensorFlow program may ask of Holdfast; each part loads when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreeing import Agreement, Disagreement, agree
    from .fencing import Outdated, may_write
    from .guarding import Guard, guard
    from .keras_told import KerasTold as Callback
    from .log_places import LogPlaces, logdir
    from .session_told import SessionTold as Hook
    from .telling import progress

__all__ = [
    "Agreement",
    "Callback",
    "Disagreement",
    "Guard",
    "Hook",
    "LogPlaces",
    "Outdated",
    "agree",
    "guard",
    "logdir",
    "may_write",
    "progress",
]
_HOMES = {
    "Agreement": "agreeing",
    "Disagreement": "agreeing",
    "Guard": "guarding",
    "LogPlaces": "log_places",
    "Outdated": "fencing",
    "agree": "agreeing",
    "guard": "guarding",
    "logdir": "log_places",
    "may_write": "fencing",
    "progress": "telling",
}


def __getattr__(name: str) -> Any:
    if name == "Callback":
        found: Any = _callback()
    elif name == "Hook":
        found = _neighbour("session_told").SessionTold
    elif name in _HOMES:
        found = getattr(_neighbour(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _callback() -> Any:
    """Asking for Keras may load it: so it is done only for who uses it."""
    import tensorflow as tf  # noqa: PLC0415

    told = _neighbour("keras_told").KerasTold
    callback = tf.keras.callbacks.Callback
    return type("Callback", (told, callback), {"__doc__": told.__doc__, "__module__": __name__})


def _neighbour(name: str) -> Any:
    return importlib.import_module("." + name, __package__)
