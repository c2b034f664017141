"""Each worker writes its samples into a file of its own, with plain h5py."""

import json
import os
import sys

import h5py
import numpy as np

ROWS = 500
BATCHES = 4


def main() -> None:
    worker = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    dtype = "float64" if "--last-in-float64" in sys.argv and worker == 3 else "float32"
    with h5py.File(f"worker_{worker}.h5", "w") as file:
        file.attrs["model"] = "resnet"
        x = file.create_dataset("samples/x", (0, 8), dtype, maxshape=(None, 8), chunks=(100, 8))
        step = file.create_dataset("samples/step", (0,), "int64", maxshape=(None,))
        for batch in range(BATCHES):
            end = (batch + 1) * ROWS
            for dataset in (x, step):
                dataset.resize(end, axis=0)
            x[batch * ROWS :] = np.full((ROWS, 8), worker + batch / 10, dtype)
            step[batch * ROWS :] = np.arange(batch * ROWS, end)
            if "--second-crashes" in sys.argv and worker == 1 and batch == 2:
                os.abort()
            print(f"batch {batch} written", flush=True)


if __name__ == "__main__":
    main()
