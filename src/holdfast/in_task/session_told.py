"""A SessionRunHook that tells global steps, for MonitoredTrainingSession and tf.estimator."""

from __future__ import annotations

from time import monotonic
from typing import Any

import tensorflow as tf

from . import place, records
from .telling import SEND_EVERY_S, teller

v1 = tf.compat.v1


class SessionTold(v1.train.SessionRunHook):  # type: ignore[misc, name-defined]
    """`loss` is the tensor to tell, or its name; without one only steps are told.

    The global step is fetched only when something is to be told: it may lie on another host.
    """

    def __init__(
        self, loss: Any = None, *, dataset: Any = None, compare: bool | None = None
    ) -> None:
        """`dataset` is what the graph reads from: of the graph itself, only elements are known.

        `compare`: whether to compare the tasks; None: where they share parameter servers.
        """
        super().__init__()
        self._loss = loss
        self._dataset = dataset
        self._compare = compare
        self._teller = teller()
        self._due_s = 0.0
        self._fetches: dict[str, Any] = {}

    def begin(self) -> None:
        """The graph is whole, and nothing has run: the moment to compare."""
        step = v1.train.get_global_step()
        if step is not None:
            # Of a variable what is read must be made while the graph may still grow.
            self._fetches["step"] = step
        if self._loss is not None:
            self._fetches["loss"] = self._tensor(self._loss)
        compare, self._compare = self._compare, False
        if compare or (compare is None and place.cluster().get("ps")):
            _compared(self._dataset)

    def before_run(self, run_context: Any) -> Any:
        now_s = monotonic()
        if now_s < self._due_s or not self._fetches:
            return None
        self._due_s = now_s + SEND_EVERY_S
        return v1.train.SessionRunArgs(self._fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        found = run_values.results
        if found is not None and "step" in found:
            values = {"loss": found["loss"]} if "loss" in found else {}
            self._teller.step(found["step"], values, "session")

    def end(self, session: Any) -> None:
        if "step" in self._fetches:
            self._teller.step(session.run(self._fetches["step"]), {}, "session")
            self._teller.flush()

    @staticmethod
    def _tensor(loss: Any) -> Any:
        if not isinstance(loss, str):
            return loss
        name = loss if ":" in loss else loss + ":0"
        return v1.get_default_graph().get_tensor_by_name(name)


def _compared(dataset: Any) -> None:
    """What goes wrong while comparing is told, and stops nobody; a difference does."""
    from .agreeing import Disagreement, agree  # noqa: PLC0415 - the import of a hook stays cheap

    try:
        agree(dataset=dataset)
    except Disagreement:
        raise
    except Exception as error:  # noqa: BLE001
        records.complain(f"the tasks were not compared: {error!r}"[:400])
