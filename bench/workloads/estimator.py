"""A healthy tf.estimator job: train_and_evaluate with a chief, a ps, workers and an evaluator.

It takes TensorFlow 2.15, the last one with estimators: `bench.output.envs` makes its environment.
"""

import tempfile
import time
from collections.abc import Mapping

import faulty
import tensorflow as tf
from committed import Faults
from notes import Notes
from session_notes import NotedBeginning, NotedSaves

ROWS = 128
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LABEL_NOISE = 0.3
LEARNING_RATE = 0.02
REPORT_EVERY_STEPS = 20
SAVE_EVERY_S = 5.0
EVALUATE_EVERY_S = 5
EVALUATE_STEPS = 4
CHIEF_POLL_S = 0.5
STEPLESS = ("ps", "evaluator")
LOSS = "loss"
HOOK = "--hook"  # Holdfast's own


def main() -> None:
    told = faulty.options(stepless=STEPLESS, flags=[HOOK])
    secs = None if told.save_every_steps else told.save_every_s or SAVE_EVERY_S
    config = tf.estimator.RunConfig(
        model_dir=told.checkpoint_dir or tempfile.mkdtemp(prefix="holdfast-estimator-"),
        save_checkpoints_secs=secs,
        save_checkpoints_steps=told.save_every_steps,
    )
    faults, notes = Faults(told), Notes(told.notes)
    faults.start(in_steps=config.task_type not in STEPLESS)
    if config.task_type == "worker" and not config.is_chief:
        wait_for_chief(config.model_dir)
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model, config=config),
        tf.estimator.TrainSpec(
            batches,
            max_steps=told.steps,
            hooks=[NotedBeginning(notes), Steps(faults, notes), *own_hooks(told)],
            saving_listeners=[NotedSaves(notes)],
        ),
        tf.estimator.EvalSpec(
            batches, steps=EVALUATE_STEPS, start_delay_secs=1, throttle_secs=EVALUATE_EVERY_S
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

    def __init__(self, faults: Faults, notes: Notes) -> None:
        self._faults = faults
        self._notes = notes
        self._reported = 0

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


def batches() -> tf.data.Dataset:
    features = tf.random.normal([ROWS, len(SLOPES)], seed=1)
    noise = tf.random.normal([ROWS, 1], 1.0, LABEL_NOISE, seed=2)
    labels = features @ tf.constant(SLOPES) + noise
    dataset = tf.data.Dataset.from_tensor_slices(({"x": features}, labels))
    return dataset.repeat().batch(BATCH)


def model(
    features: Mapping[str, tf.Tensor], labels: tf.Tensor, mode: str
) -> tf.estimator.EstimatorSpec:
    weights = tf.compat.v1.get_variable("weights", [len(SLOPES), 1])
    bias = tf.compat.v1.get_variable("bias", [1])
    loss = tf.reduce_mean((features["x"] @ weights + bias - labels) ** 2, name=LOSS)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(LEARNING_RATE)
    train = optimizer.minimize(loss, global_step=tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


if __name__ == "__main__":
    main()
