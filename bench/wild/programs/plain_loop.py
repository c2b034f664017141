"""A custom loop of one task, without any strategy."""

import tensorflow as tf
from act import Act
from tf_task import LEARNING_RATE, dataset, in_graph, loss_of, one_thread_each, this_task


def main() -> None:
    act = Act(this_task())
    act.start()
    one_thread_each()
    weights = tf.Variable(tf.zeros([4, 1]))
    bias = tf.Variable(tf.zeros([1]))

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = in_graph(act, loss_of(features, labels, weights, bias))
        for variable, slope in zip(
            (weights, bias), tape.gradient(loss, [weights, bias]), strict=True
        ):
            variable.assign_sub(LEARNING_RATE * slope)
        return loss

    batches = iter(dataset(act))
    for step in range(1, act.plan.steps + 1):
        act.own_part(step)
        act.enter(step)
        loss = float(train_step(*next(batches)))
        act.after_step(step, loss)
    act.end()
    print("done", flush=True)


if __name__ == "__main__":
    main()
