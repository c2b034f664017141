"""One TensorFlow program that times its own steps with Holdfast in it and without, by turns.

Started by bench/in_task.py; prints one JSON object. Blocks of steps with ours and without follow
each other in an order that is drawn anew for each pair, so that a noisy machine touches both
sides alike.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Pairs = list[tuple[float, float]]  # seconds a step without ours, and with it
BATCH, WIDTH = 32, 16


class Turns:
    """Whose turn a block of steps is, and how long each took."""

    def __init__(self, pairs: int, block: int) -> None:
        self.block = block
        self.pairs: Pairs = []
        self._turns = [ours for _ in range(pairs + 1) for ours in _either_order()]
        self._times: list[tuple[bool, float]] = []
        self._left, self._began_s = block, time.perf_counter()

    @property
    def ours(self) -> bool:
        return self._turns[0]

    @property
    def steps(self) -> int:
        return len(self._turns) * self.block

    def passed(self) -> None:
        """One step is over."""
        self._left -= 1
        if self._left or len(self._turns) <= 1:
            return
        now_s = time.perf_counter()
        self._times.append((self._turns.pop(0), (now_s - self._began_s) / self.block))
        if len(self._times) == 2:
            without, with_ours = (took_s for _, took_s in sorted(self._times))
            self.pairs.append((without, with_ours))
            self._times.clear()
        self._left, self._began_s = self.block, time.perf_counter()


def _either_order() -> list[bool]:
    return random.sample([False, True], 2)


def imports(count: int) -> list[tuple[float, float]]:
    """To load all of it on top of TensorFlow: seconds, and seconds of processor time.

    The first time from its source; from then on it is compiled, as after any installation.
    """
    _ = tf.keras.callbacks.Callback, tf.compat.v1.train.SessionRunHook  # the user's own
    kept = sys.dont_write_bytecode, sys.pycache_prefix
    with tempfile.TemporaryDirectory() as compiled:
        sys.dont_write_bytecode, sys.pycache_prefix = False, compiled
        found = [_import() for _ in range(count + 1)]
        sys.dont_write_bytecode, sys.pycache_prefix = kept
    return found


def _import() -> tuple[float, float]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "holdfast"]:
        del sys.modules[name]
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    import holdfast.tf as ours  # noqa: PLC0415 - what is measured

    _ = ours.Callback, ours.Hook, ours.guard, ours.agree, ours.logdir, ours.progress
    return time.perf_counter() - began_s, time.thread_time() - began_cpu_s


def loop(turns: Turns) -> Pairs:
    """A loop of one's own with `holdfast.progress`."""
    import holdfast  # noqa: PLC0415 - not before the imports were measured

    weight = tf.Variable(tf.zeros((WIDTH, 1)))
    batch = tf.ones((BATCH, WIDTH))

    @tf.function  # type: ignore[untyped-decorator]
    def train() -> Any:
        loss = tf.reduce_mean(tf.square(batch @ weight - 1.0))
        weight.assign_sub(0.01 * tf.ones_like(weight) * loss)
        return loss

    for step in range(turns.steps):
        loss = train()
        if turns.ours:
            holdfast.progress(step, loss=loss)
        turns.passed()
    return turns.pairs


def keras(turns: Turns) -> Pairs:
    """Keras, with a callback that passes on to ours when it is its turn."""
    import holdfast.tf  # noqa: PLC0415

    ours: Any = holdfast.tf.Callback()

    class Switch(tf.keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_begin(self, logs: Any = None) -> None:
            ours.set_model(self.model)
            ours.set_params(self.params)
            ours.on_train_begin(logs)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if turns.ours:
                ours.on_train_batch_end(batch, logs)
            turns.passed()

    model = tf.keras.Sequential([tf.keras.layers.Input((WIDTH,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((BATCH, WIDTH), "float32")
    data = tf.data.Dataset.from_tensors((x, x[:, :1])).repeat()
    model.fit(data, steps_per_epoch=turns.steps, verbose=0, callbacks=[Switch()])
    return turns.pairs


def session(turns: Turns) -> Pairs:
    """MonitoredTrainingSession, with a hook that passes on to ours when it is its turn."""
    import holdfast.tf  # noqa: PLC0415

    v1 = tf.compat.v1

    class Switch(v1.train.SessionRunHook):  # type: ignore[misc, name-defined]
        def begin(self) -> None:
            self.ours = holdfast.tf.Hook(loss="loss")
            self.ours.begin()

        def before_run(self, run_context: Any) -> Any:
            return self.ours.before_run(run_context) if turns.ours else None

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if turns.ours:
                self.ours.after_run(run_context, run_values)
            turns.passed()

    with tf.Graph().as_default():
        weight = v1.get_variable("weight", [WIDTH, 1], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.ones((BATCH, WIDTH)) @ weight - 1.0), name="loss")
        step = v1.train.get_or_create_global_step()
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        with v1.train.MonitoredTrainingSession(hooks=[Switch()]) as running:
            for _ in range(turns.steps):
                running.run(train)
    return turns.pairs


WAYS: dict[str, Callable[[Turns], Pairs]] = {"loop": loop, "keras": keras, "session": session}


def main() -> None:
    count, pairs, block = map(int, sys.argv[1:])
    found: dict[str, Any] = {"imports": imports(count)}
    found["steps"] = {name: way(Turns(pairs, block)) for name, way in WAYS.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
