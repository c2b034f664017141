"""The environment that lets a task write down its stacks when it is asked to."""

import os
from collections.abc import Mapping
from pathlib import Path

import holdfast

FOLDER = Path(holdfast.__file__).parent / "in_task"


def with_stacks(env: Mapping[str, str], stacks_dir: Path) -> dict[str, str]:
    """As `env`, with our `sitecustomize` before whatever the user has on PYTHONPATH."""
    if os.pathsep in str(FOLDER):
        return dict(env)  # PYTHONPATH has no way to say that
    given = env.get("PYTHONPATH", "")
    # An empty entry would mean the current folder.
    path = os.pathsep.join([str(FOLDER), given] if given else [str(FOLDER)])
    return {**env, "PYTHONPATH": path, "HOLDFAST_STACKS_DIR": str(stacks_dir)}
