"""What the TensorFlow programs share: who this task is, and its input."""

import json
import os
from functools import partial

import tensorflow as tf
from act import BATCH, FEATURES, Act

LEARNING_RATE = 0.02


def this_task() -> str:
    told = json.loads(os.environ["TF_CONFIG"])["task"]
    return f"{told['type']}:{told['index']}"


def one_thread_each() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def dataset(act: Act) -> tf.data.Dataset:
    """From memory, or from a generator where something is to happen in it."""
    if act.plan.where != "input":
        features = tf.random.normal([BATCH, FEATURES], seed=1)
        labels = tf.reduce_sum(features, 1, keepdims=True)
        return tf.data.Dataset.from_tensors((features, labels)).repeat()
    shapes = (
        tf.TensorSpec((BATCH, FEATURES), tf.float32),
        tf.TensorSpec((BATCH, 1), tf.float32),
    )
    return tf.data.Dataset.from_generator(act.batches, output_signature=shapes)


def loss_of(
    features: tf.Tensor, labels: tf.Tensor, weights: tf.Variable, bias: tf.Variable
) -> tf.Tensor:
    return tf.reduce_mean((features @ weights + bias - labels) ** 2)


def in_graph(act: Act, loss: tf.Tensor) -> tf.Tensor:
    """The same loss, after Python was called from inside of the graph, where the plan is so."""
    if act.plan.where != "graph":
        return loss
    return loss + tf.py_function(partial(act.in_graph), [], tf.float32)
