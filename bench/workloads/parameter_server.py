"""A healthy ParameterServerStrategy job: the chief trains a line, ps and workers serve it."""

from __future__ import annotations

import compared
import faulty
import model_input
import tensorflow as tf
from committed import Faults
from notes import Notes
from pace import Pace, computed

LEARNING_RATE = 0.02


def main() -> None:
    told = faulty.options(stepless={"ps", "worker"}, flags=[compared.AGREE])
    faults = Faults(told)
    compared.pretend(told)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    serves = resolver.task_type in {"ps", "worker"}
    faults.start(in_steps=not serves)
    compared.compare(told)
    if serves:
        serve(resolver)
    train(resolver, told, faults)
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


def train(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, told: faulty.Options, faults: Faults
) -> None:
    pace, notes = Pace(told, faults), Notes(told.notes)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([len(model_input.SLOPES), 1]), name="weights")
        bias = tf.Variable(tf.zeros([1]), name="bias")
        latest = tf.Variable(0.0, name="latest")  # loss; of a worker that dies nothing is fetched
    done = tf.Variable(0, dtype=tf.int64, name="done")
    saver = None
    if told.checkpoint_dir:
        saved = tf.train.Checkpoint(weights=weights, bias=bias, done=done)
        saver = tf.train.CheckpointManager(saved, told.checkpoint_dir, max_to_keep=2)
        saver.restore_or_initialize()
    batches = iter(coordinator.create_per_worker_dataset(model_input.fast))
    train_step = step_function(strategy, (weights, bias, latest), told, pace)
    print("training begins", flush=True)
    notes.begins(int(done))
    for step in range(int(done) + 1, told.steps + 1):
        coordinator.schedule(train_step, args=(batches,))
        reports = pace.reports(step)
        if reports or notes.are_kept:
            coordinator.join()
            notes.stepped(step, latest)
        if reports:
            print(f"step {step} loss {float(latest):.3f}", flush=True)
        if saver and pace.saves(step):
            coordinator.join()
            done.assign(step)
            with notes.save(step):
                saver.save(checkpoint_number=step)
        pace.evaluate()
        faults.step_done(step)
        pace.rest()


def step_function(
    strategy: tf.distribute.Strategy,
    variables: tuple[tf.Variable, tf.Variable, tf.Variable],
    told: faulty.Options,
    pace: Pace,
) -> tf.types.experimental.PolymorphicFunction:
    weights, bias, latest = variables

    def replica_step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights + bias - labels) ** 2)
        slopes = tape.gradient(loss, [weights, bias])
        for variable, slope in zip([weights, bias], slopes, strict=True):
            variable.assign_sub(LEARNING_RATE * slope)
        latest.assign(loss)
        return computed(loss, told.step_compute_s)

    def train_step(batches: tf.data.Iterator) -> tf.Tensor:
        pace.first_step()
        return strategy.run(replica_step, args=next(batches))

    return tf.function(train_step)


if __name__ == "__main__":
    main()
