"""A table of embeddings on the parameter server, which may use only a part of its host's memory."""

import json
import os
import resource

import tensorflow.compat.v1 as tf

SERVER_BYTES_MAX = 6 * 2**30
ROWS = 4_000_000


def main() -> None:
    tf.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    if kind == "ps":
        resource.setrlimit(resource.RLIMIT_AS, (SERVER_BYTES_MAX, SERVER_BYTES_MAX))
    server = tf.train.Server(config["cluster"], job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("embeddings", [ROWS, 512])
    with tf.Session(
        server.target, config=tf.ConfigProto(operation_timeout_in_ms=60_000)
    ) as session:
        session.run(table.initializer)
        for step in range(1000):
            session.run(tf.reduce_sum(tf.gather(table, [1, 2, 3])))
            print(f"step {step}", flush=True)


if __name__ == "__main__":
    main()
