"""A Keras callback that tells steps, epochs and losses, and compares the tasks at the start."""

from __future__ import annotations

from typing import Any

from . import records
from .telling import teller


class KerasTold:
    """All but the class to inherit from, which is another one in each Keras: see `tf.py`."""

    # Keras 2: logs may stay tensors until somebody reads them. Keras 3: nobody waits for us.
    _supports_tf_logs = True
    async_safe = True
    model: Any
    params: Any

    def __init__(self, *, dataset: Any = None, compare: bool | None = None) -> None:
        """`dataset` is what `fit` gets, to be compared, too.

        `compare`: whether to compare the tasks; None: where they make each step together, or
        where one coordinates servers.
        """
        super().__init__()
        self._dataset = dataset
        self._compare = compare
        self._teller = teller()
        self._step = 0
        self._epoch = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._step = _iterations(self.model)
        self._teller.step(self._step, {}, "keras")
        compare, self._compare = self._compare, False
        dataset, self._dataset = self._dataset, None
        if compare or (compare is None and _is_comparable(self.model)):
            _compared(self.model, self.params, dataset)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        self._teller.step(self._step, logs or {}, "keras")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._teller.step(self._step, {**(logs or {}), "epoch": epoch + 1}, "keras")
        self._teller.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._teller.flush()


def _is_comparable(model: Any) -> bool:
    # The import of a callback stays cheap.
    from .fingerprint import is_lockstep, only_serves  # noqa: PLC0415

    return is_lockstep(model) or only_serves(model)


def _compared(model: Any, params: Any, dataset: Any) -> None:
    """What goes wrong while comparing is told, and stops nobody; a difference does."""
    from .agreeing import Disagreement, agree  # noqa: PLC0415

    steps = (params or {}).get("steps")
    try:
        agree(model, dataset, settings={} if steps is None else {"steps an epoch": steps})
    except Disagreement:
        raise
    except Exception as error:  # noqa: BLE001
        records.complain(f"the tasks were not compared: {error!r}"[:400])


def _iterations(model: Any) -> int:
    """How many steps the optimizer has made, also before a restart."""
    try:
        return int(model.optimizer.iterations)
    except Exception:  # noqa: BLE001 - not compiled, or of another kind
        return 0
