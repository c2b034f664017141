"""Two workers train one variable on the parameter server."""

import json
import os
import time

import tensorflow.compat.v1 as tf


def main() -> None:
    tf.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=kind, task_index=index)
    if kind == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"])):
        weights = tf.get_variable("weights", [10, 10], initializer=tf.ones_initializer())
        train = weights.assign_add(tf.ones([10, 10]) / 100)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0) as session:
        for step in range(1_000_000):
            session.run(train)
            print(f"step {step}", flush=True)
            time.sleep(0.1)


if __name__ == "__main__":
    main()
