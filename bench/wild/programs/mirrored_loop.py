"""A custom loop under MultiWorkerMirroredStrategy; one worker is enough, too."""

import tensorflow as tf
from act import Act
from tf_task import LEARNING_RATE, dataset, in_graph, loss_of, one_thread_each, this_task


def main() -> None:
    act = Act(this_task())
    act.start()
    one_thread_each()
    act.enter(0)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        mean = tf.VariableAggregation.MEAN
        weights = tf.Variable(tf.zeros([4, 1]), aggregation=mean)
        bias = tf.Variable(tf.zeros([1]), aggregation=mean)
    batches = iter(strategy.distribute_datasets_from_function(lambda _context: dataset(act)))
    act.done(0)
    print("training begins", flush=True)

    def one_task(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = in_graph(act, loss_of(features, labels, weights, bias))
        slopes = tape.gradient(loss, [weights, bias])
        for variable, slope in zip((weights, bias), slopes, strict=True):
            variable.assign_sub(LEARNING_RATE * slope)
        return loss

    @tf.function  # type: ignore[untyped-decorator]
    def train_step() -> tf.Tensor:
        loss = strategy.run(one_task, args=next(batches))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)

    for step in range(1, act.plan.steps + 1):
        act.own_part(step)
        act.enter(step)
        loss = float(train_step())
        act.after_step(step, loss)
    act.end()
    print("done", flush=True)


if __name__ == "__main__":
    main()
