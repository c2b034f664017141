"""Compares what the tasks have built, in workloads that are told to: with `--agree`."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import faulty
import tensorflow as tf

AGREE = "--agree"
PRETENDED_VERSION = "2.99.0"


def asked(told: faulty.Options) -> bool:
    return AGREE in told.flags and told.differs != "silence"


def pretend(told: faulty.Options) -> None:
    """A task that says to be of another TensorFlow, where no other one can be had."""
    if told.differs == "version":
        tf.__version__ = PRETENDED_VERSION


def compare(told: faulty.Options, model: Any = None, dataset: Any = None) -> None:
    if asked(told):
        import holdfast.tf  # noqa: PLC0415 - nothing of it in a workload that does not ask

        with timed():
            holdfast.tf.agree(model, dataset)


def hooks(told: faulty.Options, *, loss: Any, dataset: Any = None) -> list[Any]:
    """For a session: it compares by itself."""
    if not asked(told):
        return []
    import holdfast.tf  # noqa: PLC0415

    class TimedHook(holdfast.tf.Hook):
        def begin(self) -> None:
            with timed():
                super().begin()

    return [TimedHook(loss, dataset=dataset)]


def callbacks(told: faulty.Options, dataset: Any) -> list[Any]:
    """For Keras: it compares by itself."""
    if not asked(told):
        return []
    import holdfast.tf  # noqa: PLC0415

    class TimedCallback(holdfast.tf.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            with timed():
                super().on_train_begin(logs)

    return [TimedCallback(dataset=dataset)]


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Says how long it took; nothing of who differs, for that ends the program."""
    began_s = time.monotonic()
    yield
    print(f"compared within {time.monotonic() - began_s:.2f} s", flush=True)
