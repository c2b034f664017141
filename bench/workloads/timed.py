"""A MultiWorkerMirroredStrategy job that notes the time of each step: `timed.py FOLDER STEPS`.

Every step is a layer and an all-reduce. Once the job has warmed up, FOLDER/steps gets a line for
each step of worker 0, who speaks for all in a lockstep: when it began, and how long it took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import tensorflow as tf

WARM_UP_STEPS = 30
REPORT_EVERY_STEPS = 10
FEATURES, UNITS, BATCH = 256, 512, 256


def main() -> None:
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    train_step = step_function(tf.distribute.MultiWorkerMirroredStrategy())
    leads = json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0
    with (folder / "steps" if leads else Path(os.devnull)).open("a") as noted:
        for step in range(1, WARM_UP_STEPS + steps + 1):
            began_s = time.monotonic()
            loss = float(train_step())
            if step % REPORT_EVERY_STEPS == 0:
                print(f"step {step} loss {loss:.6f}", flush=True)
            if step > WARM_UP_STEPS:
                noted.write(f"{began_s:.6f} {time.monotonic() - began_s:.6f}\n")


def step_function(strategy: tf.distribute.Strategy) -> tf.types.experimental.PolymorphicFunction:
    with strategy.scope():
        weights = tf.Variable(
            tf.random.normal([FEATURES, UNITS], seed=1), aggregation=tf.VariableAggregation.MEAN
        )
    features = tf.random.normal([BATCH, FEATURES], seed=2)

    def replica_step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(features @ weights)))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    def all_step() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica_step), axis=None)

    return tf.function(all_step)


if __name__ == "__main__":
    main()
