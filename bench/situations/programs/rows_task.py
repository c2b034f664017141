"""A worker that appends rows for a central writer, as docs/rows.md shows it."""

import os
import sys
import time
from pathlib import Path

import numpy as np

from holdfast import rows

folder, appends = sys.argv[1], int(sys.argv[2])
task = os.environ["HOLDFAST_TASK"]
first = 1_000_000 * int(task.partition(":")[2])
with (
    Path(f"{task}.acknowledged").open("a") as noted,
    rows.open(folder, task=task, way="central") as writer,
):
    for number in range(first, first + appends):
        writer.append("samples/x", np.full((10, 4), number, "float64"))
        print(number, file=noted, flush=True)
        time.sleep(0.005)
print("done", flush=True)
