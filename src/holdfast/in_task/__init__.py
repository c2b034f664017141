"""What runs inside of a task: the standard library and TensorFlow only, and never in its way.

Under this name where Holdfast is installed; under the name `holdfast` where it is not, and a
task's Python finds it there: so everything in here imports its neighbours relatively.
"""

from __future__ import annotations

from typing import Any

__all__ = ["progress"]


def __getattr__(name: str) -> Any:
    """Loads when it is first used: most programs only ever ask for their stacks."""
    if name == "progress":
        from .telling import progress  # noqa: PLC0415 - late on purpose

        globals()["progress"] = progress
        return progress
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r} (where Holdfast itself is not installed,"
        " there are only `progress` and `tf`)"
    )
