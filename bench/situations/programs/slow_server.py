"""A session whose parameter server multiplies large matrices for each step, with a time limit."""

import json
import os
import sys

import tensorflow.compat.v1 as tf

SIZE = 3000


def main() -> None:
    tf.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    with tf.device("/job:ps/task:0"):
        weights = tf.get_variable("weights", [SIZE, SIZE], initializer=tf.ones_initializer())
        product = weights
        for _ in range(int(sys.argv[1])):
            product = tf.matmul(product, weights) / SIZE
        update = weights.assign(product)
    limit = tf.ConfigProto(operation_timeout_in_ms=20_000)
    with tf.Session(server.target, config=limit) as session:
        session.run(weights.initializer)
        print("training", flush=True)
        for step in range(1000):
            session.run(update.op)
            print(f"step {step}", flush=True)


if __name__ == "__main__":
    main()
