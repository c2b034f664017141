"""A healthy Keras job: model.fit under MultiWorkerMirroredStrategy, with Holdfast's callback."""

import math
from typing import Any

import compared
import faulty
import model_input
import tensorflow as tf
from committed import Faults
from pace import Pace, computed, steps_in

AGREE_MADE = "--agree-made"  # before variables are made together: a wrong shape fails there
LEARNING_RATE = 0.02
STEPS_AN_EPOCH = 20
HIDDEN = 3


def main() -> None:
    told = faulty.options(stepless=(), flags=[compared.AGREE, AGREE_MADE])
    faults = Faults(told)
    compared.pretend(told)
    faults.start(in_steps=True)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    dataset = model_input.differing(model_input.fast(), told.differs)
    if AGREE_MADE in told.flags:
        compared.compare(told, lambda: made(told), dataset)
    with strategy.scope():
        if told.differs:
            faults.note()
        model = made(told)
    print("training begins", flush=True)
    an_epoch = STEPS_AN_EPOCH
    validation: dict[str, Any] = {}
    if math.isfinite(told.evaluate_every_s):
        an_epoch = steps_in(told.evaluate_every_s, told)
        steps = steps_in(told.evaluate_for_s, told)
        validation = {"validation_data": dataset, "validation_steps": steps}
    model.fit(
        dataset,
        steps_per_epoch=an_epoch,
        epochs=max(1, told.steps // an_epoch),
        verbose=0,
        callbacks=[*compared.callbacks(told, dataset), *saves(told), Steps(told, faults)],
        **validation,
    )
    print("done", flush=True)


def made(told: faulty.Options) -> Any:
    """Compiled; one task may be told to think of another one."""
    layers = tf.keras.layers
    units = HIDDEN + 2 if told.differs == "shape" else HIDDEN
    kind = "float64" if told.differs == "dtype" else "float32"
    extra = [layers.Dense(HIDDEN, name="extra")] if told.differs == "graph" else []
    hidden = layers.Dense(units, dtype=kind, name="hidden")
    size = (len(model_input.SLOPES),)
    model = tf.keras.Sequential([layers.Input(size), hidden, *extra, layers.Dense(1)])
    rate = 2 * LEARNING_RATE if told.differs == "rate" else LEARNING_RATE
    optimizers = {"optimizer": tf.keras.optimizers.Adam}
    optimizer = optimizers.get(told.differs, tf.keras.optimizers.SGD)(rate)
    error = getattr(tf.keras.losses, "mae" if told.differs == "loss" else "mse")
    model.compile(optimizer, lambda true, made: computed(error(true, made), told.step_compute_s))
    return model


def saves(told: faulty.Options) -> list[Any]:
    """Keras' own way: every task writes, each to a place of its own."""
    if told.checkpoint_dir is None or told.save_every_s is None:
        return []
    every = steps_in(told.save_every_s, told)
    return [tf.keras.callbacks.BackupAndRestore(told.checkpoint_dir, save_freq=every)]


class Steps(tf.keras.callbacks.Callback):  # type: ignore[misc]  # it ships no types
    """Tells of the steps in the output, and fails when it is time."""

    def __init__(self, told: faulty.Options, faults: Faults) -> None:
        super().__init__()
        self._faults = faults
        self._pace = Pace(told, faults)
        self._step = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._pace.first_step()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        if self._pace.reports(self._step):
            print(f"step {self._step} loss {float((logs or {}).get('loss', 0)):.3f}", flush=True)
        self._faults.step_done(self._step)
        self._pace.rest()


if __name__ == "__main__":
    main()
