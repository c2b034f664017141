"""What the next attempt begins from: the newest checkpoint that is whole, and its fence."""

from collections.abc import Sequence
from pathlib import Path, PurePath

from holdfast.logdir.checkpoint_pointing import point_to
from holdfast.logdir.checkpoint_reading import newest_whole
from holdfast.logdir.fence import hold
from holdfast.recover.checkpoints import Choice

READ_S_MAX = 60.0  # to read every tensor of it; what takes longer is taken by its names and sizes


def choose_checkpoint(folder: str, command: Sequence[str], *, reached_step: int) -> Choice:
    """Read whole by the interpreter of the job itself, where its command names one."""
    first = PurePath(command[0]).name
    interpreter = (command[0],) if first.startswith("python") else ()
    return newest_whole(
        Path(folder), interpreter=interpreter, within_s=READ_S_MAX, reached_step=reached_step
    )


def prepare(run_dir: Path, attempt: int, choice: Choice | None) -> None:
    """From now on only this attempt may write, and the program finds its checkpoint."""
    hold(run_dir, attempt)
    if choice is not None:
        point_to(choice)
