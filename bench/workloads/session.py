"""A healthy TensorFlow 1 job: between-graph replicas train a line held by parameter servers."""

import json
import os

import compared
import faulty
import model_input
import tensorflow.compat.v1 as tf
from committed import Faults
from notes import Notes
from pace import SAVE_EVERY_STEPS, Pace, computed
from session_notes import NotedBeginning, NotedSaves

CHIEF_POLL_S = 1
LEARNING_RATE = 0.02
UNFILTERED = "--no-device-filters"


def main() -> None:
    told = faulty.options(stepless={"ps"}, flags=[UNFILTERED, compared.AGREE])
    faults = Faults(told)
    compared.pretend(told)
    tf.disable_v2_behavior()
    tf_config = json.loads(os.environ["TF_CONFIG"])
    role, index = tf_config["task"]["type"], int(tf_config["task"]["index"])
    faults.start(in_steps=role != "ps")
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
        compared.compare(told)
        server.join()
    is_chief = role == "chief" or ("chief" not in cluster.jobs and index == 0)
    with tf.device(
        tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{role}/task:{index}")
    ):
        dataset = source(told, faults)
        fetches = model(told, faults, batch(told, dataset))
    hooks = compared.hooks(told, loss=fetches[0], dataset=dataset)
    if not is_chief:
        hooks.append(AfterChief(server.target, config))
    train(
        server.target,
        config,
        hooks,
        is_chief=is_chief,
        told=told,
        faults=faults,
        fetches=fetches,
    )
    print("done", flush=True)


def model(
    told: faulty.Options, faults: Faults, read: tuple[tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """The loss of one batch, and the step number once that batch has been learnt."""
    if told.differs:
        faults.note()
    features, labels = read
    weights = variable("weights", [len(model_input.SLOPES), 1])
    size = 2 if told.differs == "shape" else 1
    kind = tf.float64 if told.differs == "dtype" else tf.float32
    bias = tf.cast(variable("bias", [size], kind), tf.float32)
    if told.differs == "graph":
        tf.logging.set_verbosity(tf.logging.INFO)  # below it, TensorFlow waits without a word
        bias += variable("extra", [1])
    wrong = features @ weights + bias - tf.cast(labels, tf.float32)
    loss = tf.reduce_mean(tf.abs(wrong) if told.differs == "loss" else wrong**2)
    kinds = {"optimizer": tf.train.AdagradOptimizer}
    optimizer = kinds.get(told.differs, tf.train.GradientDescentOptimizer)(LEARNING_RATE)
    global_step = tf.train.get_or_create_global_step()
    # Beside the learning, not after it: a loop that waits for another task's op never begins.
    computed_loss = computed(loss, told.step_compute_s)
    with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
        return computed_loss, global_step.read_value()


def variable(name: str, shape: list[int], kind: tf.DType = tf.float32) -> tf.Variable:
    return tf.get_variable(name, shape, kind, initializer=tf.zeros_initializer())


def source(told: faulty.Options, faults: Faults) -> tf.data.Dataset:
    read = model_input.slow(faults) if told.slow_input_s else model_input.by_row()
    return model_input.differing(read, told.differs)


def batch(told: faulty.Options, dataset: tf.data.Dataset) -> tuple[tf.Tensor, tf.Tensor]:
    if not told.slow_input_s:
        iterator = tf.data.make_one_shot_iterator(dataset)
    else:
        iterator = tf.data.make_initializable_iterator(dataset)
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    features, labels = iterator.get_next()
    return features, labels


class AfterChief(tf.train.SessionRunHook):  # type: ignore[misc]  # it ships no types
    """Begins once the variables are there: MonitoredTrainingSession would look every 30 s."""

    def __init__(self, target: str, config: tf.ConfigProto) -> None:
        self._target = target
        self._config = config

    def begin(self) -> None:
        manager = tf.train.SessionManager(
            ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=CHIEF_POLL_S
        )
        manager.wait_for_session(self._target, config=self._config).close()


def train(
    target: str,
    config: tf.ConfigProto,
    hooks: list[tf.train.SessionRunHook],
    *,
    is_chief: bool,
    told: faulty.Options,
    faults: Faults,
    fetches: tuple[tf.Tensor, tf.Tensor],
) -> None:
    pace, notes, scaffold = Pace(told, faults), Notes(told.notes), tf.train.Scaffold()
    with tf.train.MonitoredTrainingSession(
        master=target,
        is_chief=is_chief,
        checkpoint_dir=told.checkpoint_dir,
        scaffold=scaffold,
        save_checkpoint_secs=None,
        save_checkpoint_steps=None,
        save_summaries_steps=0,
        log_step_count_steps=0,
        hooks=[
            *hooks,
            tf.train.StopAtStepHook(last_step=told.steps),
            NotedBeginning(notes),
        ],
        chief_only_hooks=savers(told, notes, scaffold),
        config=config,
    ) as session:
        print("training begins", flush=True)
        pace.first_step()
        while not session.should_stop():
            loss, step = session.run(fetches)
            notes.stepped(step, loss)
            if pace.reports(step):
                print(f"step {step} loss {loss:.3f}", flush=True)
            if is_chief:
                pace.evaluate()
            # The other workers take steps too, so this one may never see the exact number.
            faults.step_done(step)
            pace.rest()


def savers(
    told: faulty.Options, notes: Notes, scaffold: tf.train.Scaffold
) -> list[tf.train.CheckpointSaverHook]:
    """What the session would make by itself, with somebody who listens."""
    if not told.checkpoint_dir:
        return []
    steps = None if told.save_every_s else told.save_every_steps or SAVE_EVERY_STEPS
    return [
        tf.train.CheckpointSaverHook(
            told.checkpoint_dir,
            save_secs=told.save_every_s,
            save_steps=steps,
            scaffold=scaffold,
            listeners=[NotedSaves(notes)],
        )
    ]


if __name__ == "__main__":
    main()
