"""A healthy tf.estimator job: train_and_evaluate with a chief, a ps, workers and an evaluator.

It takes TensorFlow 2.15, the last one with estimators: `bench.output.envs` makes its environment.
"""

import tempfile
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import compared
import faulty
import model_input
import tensorflow as tf
from committed import Faults
from notes import Notes
from session_notes import NotedBeginning, NotedSaves

LEARNING_RATE = 0.02
REPORT_EVERY_STEPS = 20
SAVE_EVERY_S = 5.0
EVALUATE_EVERY_S = 5
EVALUATE_STEPS = 4
CHIEF_POLL_S = 0.5
STEPLESS = ("ps", "evaluator")
LOSS = "loss"
HOOK = "--hook"  # Holdfast's own
AGREE_INPUT = "--agree-input"  # in the function that makes it: no hook knows of the dataset


def main() -> None:
    told = faulty.options(stepless=STEPLESS, flags=[HOOK, compared.AGREE, AGREE_INPUT])
    compared.pretend(told)
    secs = None if told.save_every_steps else told.save_every_s or SAVE_EVERY_S
    config = tf.estimator.RunConfig(
        model_dir=told.checkpoint_dir or tempfile.mkdtemp(prefix="holdfast-estimator-"),
        save_checkpoints_secs=secs,
        save_checkpoints_steps=told.save_every_steps,
        # By default each worker begins 5 s after the one before it, and who compares waits for it.
        experimental_max_worker_delay_secs=0 if compared.asked(told) else None,
    )
    faults, notes = Faults(told), Notes(told.notes)
    faults.start(in_steps=config.task_type not in STEPLESS)
    waits = config.task_type == "worker" and not config.is_chief
    steps = Steps(told, faults, notes, after_chief=config.model_dir if waits else "")
    hooks = [NotedBeginning(notes), *compared.hooks(told, loss=None), steps, *own_hooks(told)]
    read = partial(batches, told)
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model, config=config, params={"differs": told.differs}),
        tf.estimator.TrainSpec(
            read, max_steps=told.steps, hooks=hooks, saving_listeners=[NotedSaves(notes)]
        ),
        tf.estimator.EvalSpec(
            read, steps=EVALUATE_STEPS, start_delay_secs=1, throttle_secs=EVALUATE_EVERY_S
        ),
    )
    print("done", flush=True)


def wait_for_chief(model_dir: str) -> None:
    """Return once the variables are there: who looks too early would look again after 30 s."""
    while not tf.train.latest_checkpoint(model_dir):
        time.sleep(CHIEF_POLL_S)


def own_hooks(told: faulty.Options) -> list[tf.estimator.SessionRunHook]:
    if HOOK not in told.flags:
        return []
    import holdfast.tf  # noqa: PLC0415 - only whoever wants the hook must have it

    return [holdfast.tf.Hook(loss=LOSS)]


class Steps(tf.estimator.SessionRunHook):  # type: ignore[misc]  # it ships no types
    """Tells of the steps of all workers together, and fails when it is time."""

    def __init__(
        self, told: faulty.Options, faults: Faults, notes: Notes, *, after_chief: str
    ) -> None:
        self._told = told
        self._after_chief = after_chief
        self._faults = faults
        self._notes = notes
        self._reported = 0

    def begin(self) -> None:
        if self._after_chief:
            wait_for_chief(self._after_chief)

    def after_create_session(
        self, session: tf.compat.v1.Session, coord: tf.train.Coordinator
    ) -> None:
        print("training begins", flush=True)

    def before_run(
        self, run_context: tf.estimator.SessionRunContext
    ) -> tf.estimator.SessionRunArgs:
        graph = tf.compat.v1.get_default_graph()
        loss = graph.get_tensor_by_name(f"{LOSS}:0")
        return tf.estimator.SessionRunArgs([tf.compat.v1.train.get_global_step(), loss])

    def after_run(
        self,
        run_context: tf.estimator.SessionRunContext,
        run_values: tf.estimator.SessionRunValues,
    ) -> None:
        step = int(run_values.results[0])
        self._notes.stepped(step, run_values.results[1])
        if step // REPORT_EVERY_STEPS > self._reported // REPORT_EVERY_STEPS:
            self._reported = step
            print(f"step {step}", flush=True)
        self._faults.step_done(step)
        time.sleep(self._faults.step_pause_s)


def batches(told: faulty.Options) -> tf.data.Dataset:
    read = model_input.fast().map(lambda features, labels: ({"x": features}, labels))
    dataset = model_input.differing(read, told.differs)
    if AGREE_INPUT in told.flags:
        compared.compare(told, dataset=dataset)
    return dataset


def model(
    features: Mapping[str, tf.Tensor], labels: tf.Tensor, mode: str, params: Mapping[str, Any]
) -> tf.estimator.EstimatorSpec:
    v1, differs = tf.compat.v1, params["differs"]
    size, kind = 2 if differs == "shape" else 1, tf.float64 if differs == "dtype" else tf.float32
    weights = v1.get_variable("weights", [len(model_input.SLOPES), 1])
    bias = tf.cast(v1.get_variable("bias", [size], kind), tf.float32)
    if differs == "graph":
        bias = bias + v1.get_variable("extra", [1])
    wrong = features["x"] @ weights + bias - tf.cast(labels, tf.float32)
    loss = tf.reduce_mean(tf.abs(wrong) if differs == "loss" else wrong**2, name=LOSS)
    kinds = {"optimizer": v1.train.AdagradOptimizer}
    optimizer = kinds.get(differs, v1.train.GradientDescentOptimizer)(LEARNING_RATE)
    train = optimizer.minimize(loss, global_step=tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


if __name__ == "__main__":
    main()
