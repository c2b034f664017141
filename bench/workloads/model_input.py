"""Points on a line with some noise: what every workload learns from."""

import time
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from committed import Faults

ROWS = 128
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LABEL_NOISE = 0.3
FEATURES_SEED, NOISE_SEED = 1, 2  # the same points in every run


def fast() -> tf.data.Dataset:
    features = tf.random.normal([ROWS, len(SLOPES)], seed=FEATURES_SEED)
    noise = tf.random.normal([ROWS, 1], 1.0, LABEL_NOISE, seed=NOISE_SEED)
    labels = features @ tf.constant(SLOPES) + noise
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(BATCH)


def by_row() -> tf.data.Dataset:
    """The same without constants, which an iterator of a graph could not hold."""

    def row(_: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = tf.random.normal([len(SLOPES)], seed=FEATURES_SEED)
        labels = tf.linalg.matvec(SLOPES, features, transpose_a=True)
        return features, labels + tf.random.normal([1], 1.0, LABEL_NOISE, seed=NOISE_SEED)

    return tf.data.Dataset.range(ROWS).map(row).repeat().batch(BATCH)


def differing(dataset: tf.data.Dataset, how: str) -> tf.data.Dataset:
    """As a task reads it that is told to differ from the others so."""
    match how:
        case "element":
            return dataset.map(lambda features, labels: (features, tf.cast(labels, tf.float64)))
        case "batch":
            return dataset.unbatch().batch(2 * BATCH)
        case "shard":
            return dataset.shard(2, 0)
        case "sharding":
            options = tf.data.Options()
            policies = tf.data.experimental.AutoShardPolicy
            options.experimental_distribute.auto_shard_policy = policies.OFF
            return dataset.with_options(options)
    return dataset


def slow(faults: Faults) -> tf.data.Dataset:
    """From a generator in Python, which is as slow as the fault says by now."""

    def batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        chance = np.random.default_rng(1)
        while True:
            time.sleep(faults.input_pause_s)
            features = chance.normal(size=(BATCH, len(SLOPES))).astype(np.float32)
            noise = chance.normal(1.0, LABEL_NOISE, size=(BATCH, 1)).astype(np.float32)
            yield features, features @ np.array(SLOPES, np.float32) + noise

    shapes = (
        tf.TensorSpec((BATCH, len(SLOPES)), tf.float32),
        tf.TensorSpec((BATCH, 1), tf.float32),
    )
    return tf.data.Dataset.from_generator(batches, output_signature=shapes)
