"""A worker that appends numbered rows until it is killed, and notes what was acknowledged."""

import argparse
import os
import random
import struct
import time

import numpy as np

from holdfast import rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--task", required=True)
    parser.add_argument("--token")
    parser.add_argument("--ack", default="process")
    parser.add_argument("--noted", required=True, help="where acknowledgements are noted")
    parser.add_argument("--rows", type=int, default=0, help="stop after so many")
    parser.add_argument("--pause-s", type=float, default=0.0)
    parser.add_argument("--batch-rows-max", type=int, default=200)
    parser.add_argument("--log-bytes-max", type=int, default=1 << 16)
    asked = parser.parse_args()
    index = int(asked.task.partition(":")[2])
    chance = random.Random(index)
    if "://" in asked.target:
        w = rows.open(asked.target, task=asked.task, ack=asked.ack, token=asked.token)
    else:
        w = rows.open(asked.target, task=asked.task, way="central", ack=asked.ack,
                      log_bytes_max=asked.log_bytes_max)  # fmt: skip
    noted = os.open(asked.noted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.pwrite(noted, w.folder.name.encode().ljust(64), 8)
    at = turn = 0
    with w:
        while not asked.rows or at < asked.rows:
            count = chance.randint(1, asked.batch_rows_max)
            numbers = np.arange(at, at + count)
            batch = np.stack([np.full(count, index), numbers], axis=1)
            turn += 1
            if turn % 5:
                w.append("x", batch)
            else:  # y tells how many x there are with it
                w.append_many({"x": batch, "y": np.array([at + count])})
            at += count
            os.pwrite(noted, struct.pack("<Q", at), 0)
            time.sleep(asked.pause_s)


if __name__ == "__main__":
    main()
