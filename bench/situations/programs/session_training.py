"""Training with sessions and a parameter server, as programs of TensorFlow 1 do it."""

import json
import os
import time

import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()


def train(
    cluster: dict[str, list[str]], *, is_chief: bool, steps: int = 40, cells: int = 4
) -> None:
    me = json.loads(os.environ["TF_CONFIG"])["task"]
    server = v1.train.Server(
        v1.train.ClusterSpec(cluster), job_name=me["type"], task_index=me["index"]
    )
    if me["type"] == "ps":
        server.join()
    place = v1.train.replica_device_setter(
        cluster=cluster, worker_device=f"/job:{me['type']}/task:{me['index']}"
    )
    with v1.device(place):
        step_now = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [cells, 1])
        loss = tf.reduce_mean((weights[:4] - 1.0) ** 2)
        learn = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step_now)
    # A worker needs the parameter servers, and none of the other workers.
    mine = v1.ConfigProto(device_filters=["/job:ps", f"/job:{me['type']}/task:{me['index']}"])
    print("creating the session", flush=True)
    with v1.train.MonitoredTrainingSession(
        server.target, is_chief=is_chief, config=mine
    ) as session:
        for _ in range(steps):
            _, step, lost = session.run([learn, step_now, loss])
            print(f"step {step} loss {lost:.3f}", flush=True)
            time.sleep(0.2)


def told() -> tuple[dict[str, list[str]], str]:
    """The cluster and this task, from TF_CONFIG."""
    config = json.loads(os.environ["TF_CONFIG"])
    return config["cluster"], f"{config['task']['type']}:{config['task']['index']}"
