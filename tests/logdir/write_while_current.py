"""An incarnation of a task that writes as long as it may: always, or once for each line it gets."""

import sys
from pathlib import Path

from holdfast.logdir.fence import Outdated, hold, writing
from holdfast.model.cluster import TaskId

place, attempt, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
task = TaskId.parse(sys.argv[4]) if sys.argv[4:] else None
LINES = 50


def tell(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def write() -> None:
    """Many small writes: whoever writes in between would be seen."""
    with writing(place, token, task=task), (place / "written").open("a") as file:
        for _ in range(LINES):
            file.write(f"{token.attempt}.{token.incarnation}\n")
            file.flush()
        if how == "stays":
            tell("in the middle")
            sys.stdin.readline()


token = hold(place, attempt, task=task)
tell(f"{token.attempt}.{token.incarnation}")
try:
    while how == "always" or sys.stdin.readline():
        write()
        if how != "always":
            tell("written")
except Outdated as error:
    tell(error.message)
    sys.exit(error.exit_code)
