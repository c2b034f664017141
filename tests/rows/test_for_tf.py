"""Rows from real Keras trainings and sessions."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import rows
from holdfast.rows.errors import RowsError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TensorFlow's own
    import tensorflow as tf

    from holdfast.rows.for_tf import RowsCallback, task_of_tf_config

SESSION = """
import sys
import tensorflow as tf
from holdfast.rows.for_tf import RowsHook
tf1 = tf.compat.v1
tf1.disable_eager_execution()
step = tf1.train.get_or_create_global_step()
loss = tf.cast(tf1.assign_add(step, 1), tf.float32, name="loss")
rows = tf.fill([4, 3], loss)
hook = RowsHook(sys.argv[1], {"loss": "loss:0", "emb": rows}, every_steps=2)
with tf1.train.MonitoredTrainingSession(hooks=[hook]) as session:
    for _ in range(10):
        session.run(loss)
"""


def train(callback: RowsCallback, *, epochs: int = 2) -> Any:
    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    samples = np.ones((40, 3), "f4")
    checks = (samples[:5], samples[:5, :1])
    return model.fit(
        samples, samples[:, :1], batch_size=10, epochs=epochs, verbose=0, callbacks=[callback],
        validation_data=checks, validation_freq=2,
    )  # fmt: skip


def read(logdir: Path, name: str) -> list[Any]:
    return [value for some in rows.arrays(logdir, name) for value in some.tolist()]


def test_a_training_s_values_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    callback = RowsCallback(
        tmp_path,
        every_batches=2,
        write=lambda model, logs: {"predicted": np.asarray(model(np.ones((3, 3), "f4")))},
        seal="close",
    )
    history = train(callback).history
    assert [source.task for source in rows.sources(tmp_path)] == ["worker:1"]
    assert read(tmp_path, "batch/step") == [2, 4, 6, 8]
    assert read(tmp_path, "batch/epoch") == [0, 0, 1, 1]
    assert read(tmp_path, "epoch/step") == [4, 8]
    assert read(tmp_path, "epoch/loss") == history["loss"]
    validation = read(tmp_path, "epoch/val_loss")
    assert np.isnan(validation[0])
    assert validation[1:] == history["val_loss"]
    assert sum(one.shape[0] for one in rows.arrays(tmp_path, "predicted")) == 6
    assert len(rows.pandas(tmp_path, "epoch")) == 2


def test_training_goes_on_when_rows_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="training goes on") as caught:
        assert len(train(RowsCallback(tmp_path / "file")).history["loss"]) == 2
    assert len([one for one in caught if "training goes on" in str(one.message)]) == 1
    with pytest.raises(RowsError, match="cannot write"):
        train(RowsCallback(tmp_path / "file", on_error="raise"))


def test_tf_data_reads_rows_in_batches(tmp_path: Path) -> None:
    for index in range(2):
        with rows.open(tmp_path, task=f"worker:{index}", seal="close") as writer:
            writer.append("x", np.full((5, 3), index, "f4"))
            writer.append("text", ["a", "b"])
    batches = [one.numpy() for one in rows.tf_dataset(tmp_path, "x", batch=4)]
    assert [one.shape for one in batches] == [(4, 3), (4, 3), (2, 3)]
    assert np.concatenate(batches)[:, 0].tolist() == [0] * 5 + [1] * 5
    texts = next(iter(rows.tf_dataset(tmp_path, "text", batch=9)))
    assert texts.numpy().tolist() == [b"a", b"b"] * 2


def test_a_session_s_tensors_are_rows(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SESSION, str(tmp_path)], check=True, capture_output=True)
    assert read(tmp_path, "session/loss") == [1, 3, 5, 7, 9]
    assert read(tmp_path, "session/step") == [1, 3, 5, 7, 9]
    assert [row[0] for row in read(tmp_path, "emb")] == [1] * 4 + [3] * 4 + [5] * 4 + [7] * 4 + [
        9
    ] * 4


@pytest.mark.parametrize("config", ["", "no json", "[]", '{"task": 3}', '{"task": {"type": 1}}'])
def test_without_a_cluster_the_task_is_worker_0(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", config)
    assert task_of_tf_config() == "worker:0"
