"""Rows from inside TensorFlow: a Keras callback and a hook for sessions. Only this needs it."""

import json
import os
import string
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from holdfast.rows.errors import RowsError
from holdfast.rows.opening import open_writer

OnError = Literal["warn", "raise"]
Write = Callable[[Any, dict[str, Any]], Mapping[str, Any]]
_ALLOWED = frozenset(string.ascii_letters + string.digits + "_.-")


def task_of_tf_config() -> str:
    """This process's task as TensorFlow is told it; worker:0 if there is only one."""
    try:
        task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task") or {}
        return f"{task['type']}:{int(task['index'])}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "worker:0"


class RowsCallback(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Writes what Keras logs, and what `write` returns.

    batch/step, batch/epoch and batch/<log> every `every_batches` batches; epoch/step, epoch/epoch
    and epoch/<log> after each epoch. `write(model, logs)` is called after each epoch and returns
    arrays by the names of their datasets: predictions, embeddings. All other settings are those of
    rows.open. Training goes on when rows cannot be written, with one warning; on_error="raise"
    insists.
    """

    def __init__(
        self, logdir: str | os.PathLike[str], task: str | None = None, *, every_batches: int = 1,
        write: Write | None = None, on_error: OnError = "warn", **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self._rows = _Rows(logdir, task, on_error, settings)
        self._every_batches = max(1, every_batches)
        self._write = write
        self._epoch = 0
        self._epoch_step = 0
        self._batch = -1

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """A training that was restored goes on with its steps."""
        iterations = getattr(getattr(self.model, "optimizer", None), "iterations", 0)
        self._epoch_step = int(iterations)
        self._batch = -1
        self._rows.open()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Where the steps of this epoch are counted from."""
        self._epoch = epoch
        self._epoch_step += self._batch + 1
        self._batch = -1

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Several batches may have run since the last call (steps_per_execution)."""
        is_due = (batch + 1) // self._every_batches > (self._batch + 1) // self._every_batches
        self._batch = batch
        if is_due:
            self._rows.add("batch", self._place(), logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """The values of the epoch, those of validation among them."""
        self._rows.add("epoch", self._place(), logs or {})
        if self._write is not None:
            self._rows.append(self._write(self.model, dict(logs or {})))

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Another fit() is another incarnation."""
        self._rows.close()

    def _place(self) -> dict[str, int]:
        return {"step": self._epoch_step + self._batch + 1, "epoch": self._epoch}


class RowsHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Writes tensors of a session every `every_steps` steps.

    A scalar is a row of session/NAME, beside session/step; an array gives a row of NAME for each
    item of its first dimension. `tensors`: names of datasets, with tensors or names of tensors.
    Settings and errors are as for RowsCallback.
    """

    def __init__(
        self, logdir: str | os.PathLike[str], tensors: Mapping[str, Any], task: str | None = None,
        *, every_steps: int = 1, on_error: OnError = "warn", **settings: Any,
    ) -> None:  # fmt: skip
        self._rows = _Rows(logdir, task, on_error, settings)
        self._named = dict(tensors)
        self._every_steps = max(1, every_steps)
        self._runs = 0
        self._tensors: dict[str, Any] = {}
        self._step: Any = None

    def begin(self) -> None:
        """The graph is built, and not yet run."""
        graph = tf.compat.v1.get_default_graph()
        self._tensors = {key: graph.as_graph_element(one) for key, one in self._named.items()}
        self._step = tf.compat.v1.train.get_global_step()
        self._rows.open()

    def before_run(self, run_context: Any) -> Any:
        """Tensors are asked for only when they are due."""
        self._runs += 1
        if (self._runs - 1) % self._every_steps:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """What was asked for is there."""
        if run_values.results is None:
            return
        found = {key: np.asarray(one) for key, one in run_values.results.items()}
        # Asked for together with the rest, it would be the step before or after, by chance.
        step = self._runs if self._step is None else int(run_context.session.run(self._step))
        scalars = {key: one.item() for key, one in found.items() if one.ndim == 0}
        self._rows.add("session", {"step": step}, scalars)
        self._rows.append({key: one for key, one in found.items() if one.ndim})

    def end(self, session: Any) -> None:
        """The session ended in order."""
        self._rows.close()


class _Rows:
    """A writer that by default never stops a training, and says once what is wrong."""

    def __init__(
        self, logdir: str | os.PathLike[str], task: str | None, on_error: OnError,
        settings: dict[str, Any],
    ) -> None:  # fmt: skip
        self._logdir = logdir
        self._task = task
        self._on_error = on_error
        self._settings = settings
        self._writer: Any = None
        self._columns: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._has_warned = False

    def open(self) -> None:
        self._columns, self._counts = {}, {}
        self._try(self._open)

    def add(self, group: str, place: Mapping[str, int], logs: Mapping[str, Any]) -> None:
        """One row of a group whose datasets stay equally long: what is not there is NaN."""
        found = {_part(key): value for key, value in logs.items() if np.ndim(value) == 0}
        columns = self._columns.setdefault(group, [])
        fresh = [key for key in found if key not in columns and key not in place]
        count = self._counts.get(group, 0)
        batches: dict[str, Any] = {
            f"{group}/{key}": np.array([one], np.int64) for key, one in place.items()
        }
        for key in [*columns, *fresh]:
            past = [np.nan] * count if key in fresh else []
            value = float(found.get(key, np.nan))
            batches[f"{group}/{key}"] = np.array([*past, value], np.float64)
        if self.append(batches):
            columns += fresh
            self._counts[group] = count + 1

    def append(self, batches: Mapping[str, Any]) -> bool:
        """Whether all of it is acknowledged."""
        if not batches:
            return True
        if self._writer is None:
            return False
        return self._try(lambda: self._writer.append_many(batches))

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._try(writer.close)

    def _open(self) -> None:
        task = self._task or task_of_tf_config()
        self._writer = open_writer(self._logdir, task=task, **self._settings)

    def _try(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except RowsError as error:
            if self._on_error == "raise":
                raise
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"rows are not written, training goes on: {error}", RuntimeWarning, stacklevel=4
                )
            return False
        return True


def _part(key: str) -> str:
    """The name of a metric as a part of a dataset's name."""
    made = "".join(char if char in _ALLOWED else "_" for char in key)[:64].lstrip(".")
    return made if made and not made.startswith("_holdfast") else f"x{made}"[:64]
