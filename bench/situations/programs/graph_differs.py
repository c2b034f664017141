"""Worker 1 was started with an older file, in which the model has fewer units."""

import tensorflow as tf
from training import task

UNITS = 8 if task() == "worker:1" else 16

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(UNITS, input_shape=(4,)), tf.keras.layers.Dense(1)]
    )
    model.compile(optimizer="sgd", loss="mse")
rows = tf.data.Dataset.from_tensors((tf.zeros([16, 4]), tf.zeros([16, 1]))).repeat()
model.fit(rows, steps_per_epoch=200, epochs=1, verbose=2)
