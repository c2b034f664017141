"""Workers put arrays into a queue, one process writes them into a dataset that grows."""

import multiprocessing
import os
import time
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import h5py
import numpy as np

WORKERS = 3
ARRAYS = 100_000


def work(queue: "Queue[Any]", worker: int) -> None:
    for number in range(ARRAYS):
        queue.put(np.full(16, worker + number / ARRAYS, "float32"))
        time.sleep(0.02)
    queue.put(None)


def write(queue: "Queue[Any]") -> None:
    Path("writer.pid").write_text(str(os.getpid()))
    ended = 0
    with h5py.File("all.h5", "w") as file:
        rows = file.create_dataset("x", (0, 16), "float32", maxshape=(None, 16))
        while ended < WORKERS:
            array = queue.get()
            if array is None:
                ended += 1
                continue
            rows.resize(len(rows) + 1, axis=0)
            rows[-1] = array
            if len(rows) % 100 == 0:
                file.flush()
                print(f"{len(rows)} rows written", flush=True)


def main() -> None:
    queue: Queue[Any] = multiprocessing.Queue(maxsize=20)
    writer = multiprocessing.Process(target=write, args=(queue,))
    workers = [multiprocessing.Process(target=work, args=(queue, n)) for n in range(WORKERS)]
    for process in (writer, *workers):
        process.start()
    for process in workers:
        process.join()
    writer.join()
    print("all rows are written", flush=True)


if __name__ == "__main__":
    main()
