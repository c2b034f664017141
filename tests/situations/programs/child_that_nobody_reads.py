"""Trains in a child of its own, and waits for it without reading what it writes."""

import subprocess
import sys

TRAINING = """
import sys
for step in range(5000):
    print(f"step {step}: the gradient was clipped to 1.0", file=sys.stderr)
"""


def main() -> None:
    print("starts the training", flush=True)
    child = subprocess.Popen([sys.executable, "-c", TRAINING], stderr=subprocess.PIPE)
    print(f"it ended with {child.wait()}", flush=True)


if __name__ == "__main__":
    main()
