"""Starts a parameter server and a worker on this machine, each in a process of its own."""

import multiprocessing
import os

CLUSTER = {"ps": ["localhost:23461"], "worker": ["localhost:23462"]}


def task(kind: str, index: int) -> None:
    os.environ["TF_CONFIG"] = str({"cluster": CLUSTER, "task": {"type": kind, "index": index}})
    import tensorflow as tf  # noqa: PLC0415 - it reads TF_CONFIG

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    if kind == "ps":
        server.join()
    with tf.compat.v1.Session(server.target):
        print("session is there", flush=True)


def main() -> None:
    tasks = [multiprocessing.Process(target=task, args=(kind, 0)) for kind in ("ps", "worker")]
    for one in tasks:
        one.start()
    for one in tasks:
        one.join()
    print("training finished", flush=True)


if __name__ == "__main__":
    main()
