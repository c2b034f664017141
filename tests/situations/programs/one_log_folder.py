"""Every worker keeps its summaries or checkpoints in one folder, by TensorFlow's names."""

import os
import sys
import time
from pathlib import Path

NAMES = {
    "summaries": f"logs/events.out.tfevents.{os.getpid()}",
    "checkpoints": f"logs/ckpt-1_temp/part-00000-of-00001.data.tempstate{os.getpid()}",
}


def main() -> None:
    path = Path(NAMES[sys.argv[1]])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        for step in range(100_000):
            file.write(b"loss")
            print(f"step {step}", flush=True)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
