"""tf.estimator.train_and_evaluate with a chief, a parameter server, workers and an evaluator.

It takes TensorFlow 2.15, the last one with estimators.
"""

import time
from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf
from act import Act
from tf_task import LEARNING_RATE, this_task

SAVE_EVERY_S = 5


class Steps(tf.estimator.SessionRunHook):  # type: ignore[misc]  # it ships no types
    def __init__(self, act: Act, model_dir: str) -> None:
        self._act = act
        self._model_dir = model_dir
        self._step = 0

    def begin(self) -> None:
        """Who looks for the variables before the chief has made them looks again after 30 s."""
        self._act.enter(0)
        while not self._act.task.startswith("chief"):
            if tf.train.latest_checkpoint(self._model_dir):
                return
            time.sleep(0.5)

    def after_create_session(
        self, session: tf.compat.v1.Session, coord: tf.train.Coordinator
    ) -> None:
        self._act.done(0)

    def before_run(
        self, run_context: tf.estimator.SessionRunContext
    ) -> tf.estimator.SessionRunArgs:
        self._act.own_part(self._step + 1)
        self._act.enter(self._step + 1)
        loss = tf.compat.v1.get_default_graph().get_tensor_by_name("loss:0")
        return tf.estimator.SessionRunArgs(loss)

    def after_run(
        self,
        run_context: tf.estimator.SessionRunContext,
        run_values: tf.estimator.SessionRunValues,
    ) -> None:
        self._step += 1
        self._act.after_step(self._step, float(run_values.results))
        if self._step >= self._act.plan.steps:
            run_context.request_stop()


def batches() -> tf.data.Dataset:
    features = tf.random.normal([16, 4], seed=1)
    labels = tf.reduce_sum(features, 1, keepdims=True)
    return tf.data.Dataset.from_tensors(({"x": features}, labels)).repeat()


def model(
    features: Mapping[str, tf.Tensor], labels: tf.Tensor, mode: str
) -> tf.estimator.EstimatorSpec:
    v1 = tf.compat.v1
    weights = v1.get_variable("weights", [4, 1])
    loss = tf.reduce_mean((features["x"] @ weights - labels) ** 2, name="loss")
    optimizer = v1.train.GradientDescentOptimizer(LEARNING_RATE)
    learn = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=learn)


def main() -> None:
    act = Act(this_task())
    act.start()
    model_dir = str(Path(act.plan.folder) / "model")
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        save_checkpoints_secs=SAVE_EVERY_S,
        experimental_max_worker_delay_secs=0,
    )
    if config.task_type == "ps":
        act.serve_until_fault()
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model, config=config),
        tf.estimator.TrainSpec(
            batches, max_steps=2 * act.plan.steps, hooks=[Steps(act, model_dir)]
        ),
        tf.estimator.EvalSpec(batches, steps=4, start_delay_secs=1, throttle_secs=SAVE_EVERY_S),
    )
    act.end()
    print("done", flush=True)


if __name__ == "__main__":
    main()
