"""Every worker saves its checkpoints and summaries to the same place."""

import os
import time

import tensorflow as tf

FOLDER = os.environ.get("LOGDIR", "logs")


def main() -> None:
    weights = tf.Variable(tf.zeros([4000, 4000]))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(weights=weights), FOLDER, 3)
    writer = tf.summary.create_file_writer(FOLDER)
    print("training", flush=True)
    with writer.as_default():
        for step in range(100_000):
            weights.assign_add(tf.random.normal([4000, 4000], stddev=0.01))
            tf.summary.write("norm", tf.norm(weights), step=step)
            if step % 5 == 0:
                print(f"step {step}: saved {manager.save(step)}", flush=True)
            time.sleep(0.1)


if __name__ == "__main__":
    main()
