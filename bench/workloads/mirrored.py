"""A healthy MultiWorkerMirroredStrategy job: every task trains the same line in lockstep."""

import tempfile
import time

import faulty
import tensorflow as tf

REPORT_EVERY_STEPS = 20
SAVE_EVERY_STEPS = 40
ROWS = 128
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LEARNING_RATE = 0.02
LABEL_NOISE = 0.3


def main() -> None:
    told = faulty.options(stepless=())
    faulty.start_timed_faults(told)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with tempfile.TemporaryDirectory() as scratch:
        train(strategy, told, scratch)
    print("done", flush=True)


def train(strategy: tf.distribute.Strategy, told: faulty.Options, scratch: str) -> None:
    with strategy.scope():
        weights = mirrored_variable(tf.zeros([len(SLOPES), 1]), "weights")
        bias = mirrored_variable(tf.zeros([1]), "bias")
    done = tf.Variable(0, dtype=tf.int64, name="done")
    saver = None
    if told.checkpoint_dir:
        saved = tf.train.Checkpoint(weights=weights, bias=bias, done=done)
        newest = tf.train.latest_checkpoint(told.checkpoint_dir)
        if newest:
            saved.restore(newest).assert_consumed()
        # Every task must take part in a save, but only the chief's copy is kept.
        kept = told.checkpoint_dir if is_chief(strategy) else scratch
        saver = tf.train.CheckpointManager(saved, kept, max_to_keep=2)
    batches = iter(strategy.distribute_datasets_from_function(batches_of_one_task))
    train_step = step_function(strategy, weights, bias)

    for step in range(int(done) + 1, told.steps + 1):
        loss = train_step(batches)
        if step % REPORT_EVERY_STEPS == 0 or step == told.steps:
            print(f"step {step} loss {float(loss):.3f}", flush=True)
        if saver and (step % SAVE_EVERY_STEPS == 0 or step == told.steps):
            done.assign(step)
            saver.save(checkpoint_number=step)
        if step == told.fail_at_step:
            faulty.fail(told.fail_how)
        time.sleep(told.step_pause_s)


def mirrored_variable(initial: tf.Tensor, name: str) -> tf.Variable:
    return tf.Variable(initial, name=name, aggregation=tf.VariableAggregation.MEAN)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    resolver = strategy.cluster_resolver
    if "chief" in resolver.cluster_spec().jobs:
        return bool(resolver.task_type == "chief")
    return bool(resolver.task_id == 0)


def batches_of_one_task(_context: tf.distribute.InputContext) -> tf.data.Dataset:
    features = tf.random.normal([ROWS, len(SLOPES)])
    labels = features @ tf.constant(SLOPES) + tf.random.normal([ROWS, 1], 1.0, LABEL_NOISE)
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(BATCH)


def step_function(
    strategy: tf.distribute.Strategy, weights: tf.Variable, bias: tf.Variable
) -> tf.types.experimental.PolymorphicFunction:
    def replica_step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights + bias - labels) ** 2)
        slopes = tape.gradient(loss, [weights, bias])
        for variable, slope in zip([weights, bias], slopes, strict=True):
            variable.assign_sub(LEARNING_RATE * slope)
        return loss

    def train_step(batches: tf.data.Iterator) -> tf.Tensor:
        loss = strategy.run(replica_step, args=next(batches))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)

    return tf.function(train_step)


if __name__ == "__main__":
    main()
