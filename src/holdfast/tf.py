"""What a TensorFlow program may ask of Holdfast: `import holdfast.tf`, from within a task."""

from typing import TYPE_CHECKING, Any

from holdfast.in_task import tf as _tf

if TYPE_CHECKING:
    from holdfast.in_task.tf import (
        Agreement,
        Callback,
        Disagreement,
        Guard,
        Hook,
        LogPlaces,
        Outdated,
        agree,
        guard,
        logdir,
        may_write,
        progress,
    )

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


def __getattr__(name: str) -> Any:
    """Each loads when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'holdfast.tf' has no attribute {name!r}")
    found = globals()[name] = getattr(_tf, name)
    return found
