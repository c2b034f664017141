"""Trains in a child of its own, and waits for it without reading what it writes."""

import subprocess
import sys

TRAINING = """
import tensorflow as tf

weights = tf.Variable(tf.zeros([10]))
for step in range(5000):
    weights.assign_add(tf.ones([10]))
    tf.get_logger().warning("step %d: the gradient of %s was clipped to 1.0", step, weights.name)
"""


def main() -> None:
    print("starts the training", flush=True)
    child = subprocess.Popen([sys.executable, "-c", TRAINING], stderr=subprocess.PIPE)
    code = child.wait()
    assert child.stderr is not None
    print(f"it ended with {code}, and wrote {len(child.stderr.read())} bytes", flush=True)


if __name__ == "__main__":
    main()
