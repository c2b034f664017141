"""Runs, watches and diagnoses distributed TensorFlow training."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.agent.own_process import FailedProcess, FinishedProcess, run_process
    from holdfast.agent.running_process import RunningProcess
    from holdfast.in_task.telling import progress

__version__ = "0.1.0"
__all__ = [
    "FailedProcess",
    "FinishedProcess",
    "RunningProcess",
    "__version__",
    "progress",
    "run_process",
]


def __getattr__(name: str) -> Any:
    """Public names load when first used, so that the commands start fast."""
    if name == "progress":
        from holdfast.in_task.telling import progress  # noqa: PLC0415 - late on purpose

        globals()["progress"] = progress
        return progress
    if name in __all__:
        from holdfast.agent import own_process  # noqa: PLC0415 - late on purpose

        return getattr(own_process, name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
