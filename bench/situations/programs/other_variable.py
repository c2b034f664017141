"""Two workers share a variable on the parameter server, and one of them has another idea of it."""

import json
import os
import sys
import time

import tensorflow.compat.v1 as tf


def main() -> None:
    tf.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    # What an old and a new version of the program make of it.
    dtype, width = tf.float32, 32
    if index == 1:
        dtype, width = (tf.float64, 32) if sys.argv[1] == "precise" else (tf.float32, 64)
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"])):
        weights = tf.get_variable("dense/kernel", [10, width], dtype, tf.ones_initializer())
        train = weights.assign_add(tf.ones([10, width], dtype) / 100)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0) as session:
        for step in range(300):
            session.run(train)
            print(f"step {step}", flush=True)
            time.sleep(0.1)


if __name__ == "__main__":
    main()
