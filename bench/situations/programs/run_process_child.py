"""The same child, started with `holdfast.run_process`."""

import subprocess
import sys

from holdfast import run_process

TRAINING = """
import tensorflow as tf

weights = tf.Variable(tf.zeros([10]))
for step in range(5000):
    weights.assign_add(tf.ones([10]))
    tf.get_logger().warning("step %d: the gradient of %s was clipped to 1.0", step, weights.name)
"""


def main() -> None:
    print("starts the training", flush=True)
    done = run_process([sys.executable, "-c", TRAINING], stderr=subprocess.PIPE, text=True)
    lines = sum("was clipped to 1.0" in line for line in done.stderr.splitlines())
    print(f"it ended with {done.returncode}, and wrote {lines} lines", flush=True)


if __name__ == "__main__":
    main()
