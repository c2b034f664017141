"""The environment in which a task can write down its stacks, and tell us how far it is."""

import os
from collections.abc import Mapping
from pathlib import Path

import holdfast

FOLDER = Path(holdfast.__file__).parent / "in_task" / "at_start"
IN_TASK = "in-task"  # the folder of the run directory in which tasks may leave something


def in_task_env(env: Mapping[str, str], run_dir: Path) -> dict[str, str]:
    """As `env`, which names the task, with all else that its program may want to know of us."""
    told = {"HOLDFAST_IN_TASK_DIR": str(run_dir / IN_TASK)}
    return {**with_stacks(env, run_dir / "stacks"), **told}


def with_stacks(env: Mapping[str, str], stacks_dir: Path) -> dict[str, str]:
    """As `env`, with our `sitecustomize` before whatever the user has on PYTHONPATH."""
    if os.pathsep in str(FOLDER):
        return dict(env)  # PYTHONPATH has no way to say that
    given = env.get("PYTHONPATH", "")
    # An empty entry would mean the current folder.
    path = os.pathsep.join([str(FOLDER), given] if given else [str(FOLDER)])
    return {**env, "PYTHONPATH": path, "HOLDFAST_STACKS_DIR": str(stacks_dir)}
