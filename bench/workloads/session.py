"""A healthy TensorFlow 1 job: between-graph replicas train a line held by parameter servers."""

import json
import os
import time

import faulty
import tensorflow.compat.v1 as tf

REPORT_EVERY_STEPS = 20
SAVE_EVERY_STEPS = 40
CHIEF_POLL_S = 1
ROWS = 128
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LEARNING_RATE = 0.02
LABEL_NOISE = 0.3
UNFILTERED = "--no-device-filters"


def main() -> None:
    told = faulty.options(stepless={"ps"}, flags=[UNFILTERED])
    faulty.start_timed_faults(told)
    tf.disable_v2_behavior()
    tf_config = json.loads(os.environ["TF_CONFIG"])
    role, index = tf_config["task"]["type"], int(tf_config["task"]["index"])
    cluster = tf.train.ClusterSpec(tf_config["cluster"])
    # Without filters a session waits for every task of the cluster, other workers included.
    unfiltered = role == "ps" or UNFILTERED in told.flags
    config = tf.ConfigProto(
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=1,
        device_filters=[] if unfiltered else ["/job:ps", f"/job:{role}/task:{index}"],
    )
    server = tf.train.Server(cluster, job_name=role, task_index=index, config=config)
    if role == "ps":
        server.join()
    is_chief = role == "chief" or ("chief" not in cluster.jobs and index == 0)
    with tf.device(
        tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{role}/task:{index}")
    ):
        fetches = model()
    if not is_chief:
        wait_for_chief(server.target, config)
    train(server.target, config, is_chief=is_chief, told=told, fetches=fetches)
    print("done", flush=True)


def model() -> tuple[tf.Tensor, tf.Tensor]:
    """The loss of one batch, and the step number once that batch has been learnt."""
    features, labels = tf.data.make_one_shot_iterator(batches()).get_next()
    weights = tf.get_variable("weights", [len(SLOPES), 1], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((features @ weights + bias - labels) ** 2)
    optimizer = tf.train.GradientDescentOptimizer(LEARNING_RATE)
    global_step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
        return loss, global_step.read_value()


def batches() -> tf.data.Dataset:
    def row(_: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = tf.random.normal([len(SLOPES)])
        labels = tf.linalg.matvec(SLOPES, features, transpose_a=True)
        return features, labels + tf.random.normal([1], 1.0, LABEL_NOISE)

    return tf.data.Dataset.range(ROWS).map(row).repeat().batch(BATCH)


def wait_for_chief(target: str, config: tf.ConfigProto) -> None:
    """Return once the variables are there: MonitoredTrainingSession would look every 30 s."""
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=CHIEF_POLL_S
    )
    manager.wait_for_session(target, config=config).close()


def train(
    target: str,
    config: tf.ConfigProto,
    *,
    is_chief: bool,
    told: faulty.Options,
    fetches: tuple[tf.Tensor, tf.Tensor],
) -> None:
    reported = 0
    with tf.train.MonitoredTrainingSession(
        master=target,
        is_chief=is_chief,
        checkpoint_dir=told.checkpoint_dir,
        save_checkpoint_secs=None,
        save_checkpoint_steps=SAVE_EVERY_STEPS,
        save_summaries_steps=0,
        log_step_count_steps=0,
        hooks=[tf.train.StopAtStepHook(last_step=told.steps)],
        config=config,
    ) as session:
        while not session.should_stop():
            loss, step = session.run(fetches)
            if step // REPORT_EVERY_STEPS > reported or step >= told.steps:
                reported = step // REPORT_EVERY_STEPS
                print(f"step {step} loss {loss:.3f}", flush=True)
            # The other workers take steps too, so this one may never see the exact number.
            if step >= told.fail_at_step:
                faulty.fail(told.fail_how)
            time.sleep(told.step_pause_s)


if __name__ == "__main__":
    main()
