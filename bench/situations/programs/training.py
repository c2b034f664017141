"""Synchronous training of a line, which the programs beside it share."""

import json
import os
import time
from collections.abc import Callable

import tensorflow as tf

PACE_S = 0.2


def task() -> str:
    me = json.loads(os.environ["TF_CONFIG"])["task"]
    return f"{me['type']}:{me['index']}"


def train(load: Callable[[int], None], steps: int = 10_000) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]), aggregation=tf.VariableAggregation.MEAN)

    def learn(rows: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((rows @ weights - 1.0) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(rows: tf.Tensor) -> tf.Tensor:
        loss = strategy.run(learn, args=(rows,))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)

    for step in range(1, steps + 1):
        load(step)
        time.sleep(PACE_S)
        loss = float(train_step(tf.random.normal([16, 4])))
        print(f"step {step} loss {loss:.3f}", flush=True)
