"""A journal's writer in a process of its own: prints the size after each append, for ever."""

import sys
from pathlib import Path

from holdfast.logdir.journal import open_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import LogLine

with (
    open_run_dir(Path(sys.argv[1])) as run_dir,
    open_journal(run_dir, shared=sys.argv[2] == "segments") as journal,
):
    number = journal.size()
    while True:
        group = 1 + number % 3
        lines = [
            LogLine(
                at_s=float(n),
                host="gpu-07",
                task=TaskId("worker", n % 4),
                text="x" * (n % 300),
                line=n,
            )
            for n in range(number + 1, number + 1 + group)
        ]
        journal.append(*(line for line in lines))
        number += group
        sys.stdout.write(f"{journal.size()}\n")
        sys.stdout.flush()
