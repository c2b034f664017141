"""A between-graph job of TensorFlow 1: workers with their own sessions, and parameter servers."""

import json
import os

import tensorflow.compat.v1 as tf
from act import Act
from tf_task import LEARNING_RATE, this_task

CHIEF_POLL_S = 1


def main() -> None:
    act = Act(this_task())
    act.start()
    tf.disable_v2_behavior()
    cluster = tf.train.ClusterSpec(json.loads(os.environ["TF_CONFIG"])["cluster"])
    role, _, index = act.task.partition(":")
    config = tf.ConfigProto(
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=1,
        device_filters=[] if role == "ps" else ["/job:ps", f"/job:{role}/task:{index}"],
    )
    server = tf.train.Server(cluster, job_name=role, task_index=int(index), config=config)
    if role == "ps":
        act.serve_until_fault()
        server.join()
    here = f"/job:{role}/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=here)):
        features = tf.random.normal([16, 4])
        weights = tf.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
        wrong = features @ weights - tf.reduce_sum(features, 1, keepdims=True)
        loss = tf.reduce_mean(wrong**2)
        steps = tf.train.get_or_create_global_step()
        learn = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss, global_step=steps)
    act.enter(0)
    with session_of(server.target, config, is_chief=index == "0") as session:
        act.done(0)
        for step in range(1, act.plan.steps + 1):
            act.own_part(step)
            act.enter(step)
            found, _ = session.run([loss, learn])
            act.after_step(step, float(found))
        act.end()
    print("done", flush=True)


def session_of(
    target: str, config: tf.ConfigProto, *, is_chief: bool
) -> tf.train.MonitoredTrainingSession:
    if not is_chief:
        # MonitoredTrainingSession itself would look only every 30 s.
        ready = tf.train.SessionManager(
            ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=CHIEF_POLL_S
        )
        ready.wait_for_session(target, config=config).close()
    return tf.train.MonitoredTrainingSession(
        master=target, is_chief=is_chief, config=config, log_step_count_steps=0
    )


if __name__ == "__main__":
    main()
