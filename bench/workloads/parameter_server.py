"""A healthy ParameterServerStrategy job: the chief trains a line, ps and workers serve it."""

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
    told = faulty.options(stepless={"ps", "worker"})
    faulty.start_timed_faults(told)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in {"ps", "worker"}:
        serve(resolver)
    train(resolver, told)
    print("done", flush=True)


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Serve this task's device for ever: a server ends only when it is killed."""
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        # With one inter-op thread a worker's step waits for ever, and nobody says a word.
        config=tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=1, inter_op_parallelism_threads=2
        ),
    )
    server.join()


def train(resolver: tf.distribute.cluster_resolver.ClusterResolver, told: faulty.Options) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([len(SLOPES), 1]), name="weights")
        bias = tf.Variable(tf.zeros([1]), name="bias")
    done = tf.Variable(0, dtype=tf.int64, name="done")
    saver = None
    if told.checkpoint_dir:
        saved = tf.train.Checkpoint(weights=weights, bias=bias, done=done)
        saver = tf.train.CheckpointManager(saved, told.checkpoint_dir, max_to_keep=2)
        saver.restore_or_initialize()
    batches = iter(coordinator.create_per_worker_dataset(batches_of_one_worker))
    train_step = step_function(strategy, weights, bias)

    for step in range(int(done) + 1, told.steps + 1):
        loss = coordinator.schedule(train_step, args=(batches,))
        if step % REPORT_EVERY_STEPS == 0 or step == told.steps:
            coordinator.join()
            print(f"step {step} loss {loss.fetch():.3f}", flush=True)
        if saver and (step % SAVE_EVERY_STEPS == 0 or step == told.steps):
            coordinator.join()
            done.assign(step)
            saver.save(checkpoint_number=step)
        if step == told.fail_at_step:
            faulty.fail(told.fail_how)
        time.sleep(told.step_pause_s)


def batches_of_one_worker() -> tf.data.Dataset:
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
        return strategy.run(replica_step, args=next(batches))

    return tf.function(train_step)


if __name__ == "__main__":
    main()
