"""ParameterServerStrategy with a ClusterCoordinator: the chief drives, the others serve."""

import tensorflow as tf
from act import Act
from tf_task import LEARNING_RATE, dataset, loss_of, one_thread_each, this_task


def main() -> None:
    act = Act(this_task())
    act.start()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type != "chief":
        serve(resolver, act)
    one_thread_each()
    act.enter(0)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([4, 1]))
        bias = tf.Variable(tf.zeros([1]))
    act.done(0)

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(batches: tf.data.Iterator) -> tf.Tensor:
        def one_worker(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = loss_of(features, labels, weights, bias)
            slopes = tape.gradient(loss, [weights, bias])
            for variable, slope in zip((weights, bias), slopes, strict=True):
                variable.assign_sub(LEARNING_RATE * slope)
            return loss

        return strategy.run(one_worker, args=next(batches))

    batches = iter(coordinator.create_per_worker_dataset(lambda: dataset(act)))
    workers = len(resolver.cluster_spec().job_tasks("worker"))
    for step in range(1, act.plan.steps + 1):
        act.own_part(step)
        act.enter(step)
        losses = [coordinator.schedule(train_step, args=(batches,)) for _ in range(2 * workers)]
        coordinator.join()
        act.after_step(step, float(coordinator.fetch(losses[0])))
    act.end()
    print("done", flush=True)


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver, act: Act) -> None:
    # With one inter-op thread a worker's step waits for ever.
    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=2
    )
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        config=config,
    )
    act.serve_until_fault()
    server.join()


if __name__ == "__main__":
    main()
