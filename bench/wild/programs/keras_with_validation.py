"""Keras `fit` with validation after each epoch, under MultiWorkerMirroredStrategy (TF 2.15)."""

from typing import Any

import tensorflow as tf
from act import Act
from tf_task import LEARNING_RATE, dataset, one_thread_each, this_task

STEPS_AN_EPOCH = 10
VALIDATION_STEPS = 3


class Steps(tf.keras.callbacks.Callback):  # type: ignore[misc]  # it ships no types
    def __init__(self, act: Act) -> None:
        super().__init__()
        self._act = act
        self._step = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._act.own_part(self._step + 1)
        self._act.enter(self._step + 1)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        self._act.after_step(self._step, float((logs or {}).get("loss", 0)))

    def on_test_begin(self, logs: Any = None) -> None:
        """The validation's own steps wait for the others, too."""
        if self._act.plan.phase == "evaluation" and self._act.is_chosen:
            self._act.evaluate(self._step)
        self._act.enter(self._step + 1)


def main() -> None:
    act = Act(this_task())
    act.start()
    one_thread_each()
    act.enter(0)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        layers = [tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential(layers)
        model.compile(tf.keras.optimizers.SGD(LEARNING_RATE), "mse")
    act.done(0)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    read = dataset(act).with_options(options)
    model.fit(
        read,
        epochs=max(1, act.plan.steps // STEPS_AN_EPOCH),
        steps_per_epoch=STEPS_AN_EPOCH,
        validation_data=read.take(VALIDATION_STEPS) if act.plan.where != "input" else None,
        verbose=2 if act.plan.words else 0,
        callbacks=[Steps(act)],
    )
    act.end()
    print("done", flush=True)


if __name__ == "__main__":
    main()
