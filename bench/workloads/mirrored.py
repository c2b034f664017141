"""A healthy MultiWorkerMirroredStrategy job: every task trains the same line in lockstep."""

from __future__ import annotations

import contextlib
import tempfile

import compared
import faulty
import model_input
import tensorflow as tf
from committed import Faults
from notes import Notes
from pace import Pace, computed

LEARNING_RATE = 0.02


def main() -> None:
    told = faulty.options(stepless=(), flags=[compared.AGREE])
    faults = Faults(told)
    compared.pretend(told)
    faults.start(in_steps=True)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with tempfile.TemporaryDirectory() as scratch:
        train(strategy, told, faults, scratch)
    print("done", flush=True)


def train(
    strategy: tf.distribute.Strategy, told: faulty.Options, faults: Faults, scratch: str
) -> None:
    pace, leads = Pace(told, faults), is_chief(strategy)
    notes = Notes(told.notes)

    def batches_of_one_task(_context: tf.distribute.InputContext | None) -> tf.data.Dataset:
        read = model_input.slow(faults) if told.slow_input_s else model_input.fast()
        return model_input.differing(read, told.differs)

    if compared.asked(told):
        compared.compare(told, lambda: variables(told, faults), batches_of_one_task(None))
    with strategy.scope():
        *_, weights, bias = variables(told, faults)
    done = tf.Variable(0, dtype=tf.int64, name="done")
    saver = None
    if told.checkpoint_dir:
        saved = tf.train.Checkpoint(weights=weights, bias=bias, done=done)
        newest = tf.train.latest_checkpoint(told.checkpoint_dir)
        if newest:
            saved.restore(newest).assert_consumed()
        # Every task must take part in a save, but only the chief's copy is kept.
        kept = told.checkpoint_dir if leads else scratch
        saver = tf.train.CheckpointManager(saved, kept, max_to_keep=2)

    batches = iter(strategy.distribute_datasets_from_function(batches_of_one_task))
    train_step = step_function(strategy, weights, bias, told, pace)
    print("training begins", flush=True)
    notes.begins(int(done))
    for step in range(int(done) + 1, told.steps + 1):
        loss = train_step(batches)
        notes.stepped(step, loss)
        if pace.reports(step):
            print(f"step {step} loss {float(loss):.3f}", flush=True)
        if saver and pace.saves(step):
            done.assign(step)
            with notes.save(step) if leads else contextlib.nullcontext():
                saver.save(checkpoint_number=step)
        if leads:
            pace.evaluate()
        faults.step_done(step)
        pace.rest()


def variables(told: faulty.Options, faults: Faults) -> list[tf.Variable]:
    """The model's; one task may be told to think of another one."""
    if told.differs:
        faults.note()
    extra = [mirrored_variable(tf.zeros([3]), "extra")] if told.differs == "graph" else []
    weights = mirrored_variable(tf.zeros([len(model_input.SLOPES), 1]), "weights")
    size = 2 if told.differs == "shape" else 1
    kind = tf.float64 if told.differs == "dtype" else tf.float32
    return [*extra, weights, mirrored_variable(tf.zeros([size], kind), "bias")]


def mirrored_variable(initial: tf.Tensor, name: str) -> tf.Variable:
    return tf.Variable(initial, name=name, aggregation=tf.VariableAggregation.MEAN)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    resolver = strategy.cluster_resolver
    if "chief" in resolver.cluster_spec().jobs:
        return bool(resolver.task_type == "chief")
    return bool(resolver.task_id == 0)


def step_function(
    strategy: tf.distribute.Strategy,
    weights: tf.Variable,
    bias: tf.Variable,
    told: faulty.Options,
    pace: Pace,
) -> tf.types.experimental.PolymorphicFunction:
    def replica_step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights + bias - labels) ** 2)
        slopes = tape.gradient(loss, [weights, bias])
        for variable, slope in zip([weights, bias], slopes, strict=True):
            variable.assign_sub(LEARNING_RATE * slope)
        return computed(loss, told.step_compute_s)

    def train_step(batches: tf.data.Iterator) -> tf.Tensor:
        pace.first_step()
        loss = strategy.run(replica_step, args=next(batches))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)

    return tf.function(train_step)


if __name__ == "__main__":
    main()
