"""Real checkpoints of every kind, written by one process that really trains a little."""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

INPUT = np.ones((8, 4), "float32")
TARGET = np.ones((8, 1), "float32")


def model() -> tf.keras.Model:
    made = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    made.compile(optimizer="adam", loss="mse")
    return made


def restored(folder: Path) -> None:
    """What TensorFlow and Keras take by themselves, one line each."""
    step = tf.Variable(0, dtype=tf.int64)
    kept = tf.train.Checkpoint(step=step, weights=tf.Variable(tf.zeros([64, 64])))
    manager = tf.train.CheckpointManager(kept, str(folder / "by_step"), max_to_keep=3)
    manager.restore_or_initialize()
    print(f"by_step {step.numpy()}")
    manager.save(checkpoint_number=35)
    print(f"listed {' '.join(Path(path).name for path in manager.checkpoints)}")
    backup = tf.keras.callbacks.BackupAndRestore(str(folder / "backup"), delete_checkpoint=False)
    history = model().fit(INPUT, TARGET, epochs=4, verbose=0, callbacks=[backup])
    print(f"backup {' '.join(map(str, history.epoch))}")


def with_manager(folder: Path) -> None:
    """TensorFlow 2: numbered by the step, three kept; and another one that counts its saves."""
    step = tf.Variable(0, dtype=tf.int64)
    weights = tf.Variable(tf.random.normal([64, 64]))
    kept = tf.train.Checkpoint(step=step, weights=weights)
    by_step = tf.train.CheckpointManager(kept, str(folder / "by_step"), max_to_keep=3)
    by_count = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step, weights=weights), str(folder / "by_count"), max_to_keep=3
    )
    for number in (10, 20, 30, 40):
        step.assign(number)
        weights.assign_add(tf.ones_like(weights))
        by_step.save(checkpoint_number=number)
        by_count.save()


def with_saver(folder: Path) -> None:
    """TensorFlow 1: whole, and in a shard for each of two devices."""
    config = tf.compat.v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        for device in range(2):
            with tf.device(f"/cpu:{device}"):
                tf.compat.v1.get_variable(f"w{device}", [64, 64])
        session.run(tf.compat.v1.global_variables_initializer())
        whole = tf.compat.v1.train.Saver(max_to_keep=3)
        sharded = tf.compat.v1.train.Saver(sharded=True)
        for number in (100, 200, 300):
            whole.save(session, str(folder / "saver" / "model.ckpt"), global_step=number)
            sharded.save(session, str(folder / "sharded" / "model.ckpt"), global_step=number)


def with_keras(folder: Path) -> None:
    made = model()
    backup = tf.keras.callbacks.BackupAndRestore(
        str(folder / "backup"), double_checkpoint=True, delete_checkpoint=False
    )
    whole = tf.keras.callbacks.ModelCheckpoint(str(folder / "whole" / "m-{epoch:02d}.keras"))
    weights = tf.keras.callbacks.ModelCheckpoint(
        str(folder / "weights" / "m-{epoch:02d}.weights.h5"), save_weights_only=True
    )
    old = tf.keras.callbacks.ModelCheckpoint(str(folder / "old" / "m-{epoch:02d}.h5"))
    made.fit(INPUT, TARGET, epochs=3, verbose=0, callbacks=[backup, whole, weights, old])


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2:] == ["restore"]:
        restored(place)
        sys.exit()
    for name in ("saver", "sharded", "whole", "weights", "old"):
        (place / name).mkdir(parents=True)
    with_manager(place)
    with_saver(place)
    with_keras(place)
