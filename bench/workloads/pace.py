"""How fast a workload goes: its steps, its words, its pauses for tracing and for evaluation."""

import time

import faulty
import numpy as np
import tensorflow as tf
from committed import Faults

REPORT_EVERY_STEPS, REPORT_EVERY_S = 20, 1.0
SAVE_EVERY_STEPS = 40
STEP_S_LEAST = 0.01
MATRIX = 128


class Pace:
    def __init__(self, told: faulty.Options, faults: Faults) -> None:
        self._told = told
        self._faults = faults
        self._reported_step = 0
        self._reported_s = time.monotonic()
        self._evaluated_s = time.monotonic()
        self._traced = False

    def reports(self, step: int) -> bool:
        """Whether this step is worth a line: not each of them, if they are short."""
        every = self._told.report_every_steps or REPORT_EVERY_STEPS
        passed = step // every > self._reported_step // every
        late = time.monotonic() - self._reported_s >= REPORT_EVERY_S
        if not (passed or late or step >= self._told.steps):
            return False
        self._reported_step, self._reported_s = step, time.monotonic()
        return True

    def saves(self, step: int) -> bool:
        """By the number of the step alone: all tasks must come to the same answer."""
        every = self._told.save_every_steps or SAVE_EVERY_STEPS
        if self._told.save_every_s is not None:
            every = steps_in(self._told.save_every_s, self._told)
        return step % every == 0 or step == self._told.steps

    def first_step(self) -> None:
        """What tracing and compiling take: one half of it on a core, the other half waiting."""
        if self._traced:
            return
        self._traced = True
        until_s = time.monotonic() + self._told.first_step_s / 2
        while time.monotonic() < until_s:
            np.linalg.svd(np.random.default_rng(1).normal(size=(MATRIX, MATRIX)))
        time.sleep(self._told.first_step_s / 2)

    def evaluate(self) -> None:
        """On this task alone, while the others wait in their next step."""
        if time.monotonic() - self._evaluated_s < self._told.evaluate_every_s:
            return
        print("evaluation begins", flush=True)
        evaluated(self._told.evaluate_for_s)
        print("evaluation ends", flush=True)
        self._evaluated_s = self._reported_s = time.monotonic()

    def rest(self) -> None:
        time.sleep(self._faults.step_pause_s)


def steps_in(seconds: float, told: faulty.Options) -> int:
    """As many as fit, if each takes as long as it was told to."""
    return max(1, round(seconds / max(told.step_s, STEP_S_LEAST)))


def computed(loss: tf.Tensor, for_s: float) -> tf.Tensor:
    """The same loss, after a core has been kept busy inside of TensorFlow."""
    if not for_s:
        return loss
    until_s = tf.timestamp() + for_s
    matrix = tf.random.normal([MATRIX, MATRIX])
    busy = tf.while_loop(
        lambda _: tf.timestamp() < until_s,
        lambda before: (tf.linalg.l2_normalize(before @ before),),
        (matrix,),
    )
    with tf.control_dependencies(busy):
        return tf.identity(loss)


def evaluated(for_s: float) -> None:
    """On this host's own device, whatever the graph of the training is."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(computed(tf.constant(0.0), for_s))
