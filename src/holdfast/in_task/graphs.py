"""What the graph of a TensorFlow 1 program trains with, in words that can be compared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import tensorflow as tf

OPS_MAX = 100_000
if TYPE_CHECKING:  # a Python before 3.9 cannot make it
    Facet = list[Any]  # about, name, value, whether a difference stops the training


def trained_ops() -> list[Facet]:
    """How many ops of each kind a step consists of; nothing where no optimizer has told its end.

    Another loss shows here, and another optimizer. It stops nobody: a chief may do more.
    """
    v1 = tf.compat.v1
    waiting = [getattr(end, "op", end) for end in v1.get_collection(v1.GraphKeys.TRAIN_OP)]
    seen: set[Any] = set()
    while waiting and len(seen) < OPS_MAX:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting += [tensor.op for tensor in op.inputs]
            waiting += op.control_inputs
    kinds = Counter(op.type for op in seen)
    return [["graph", f"op {kind}", str(number), False] for kind, number in sorted(kinds.items())]
