"""Notes of a program that saves and restores by the hooks of TensorFlow 1."""

import tensorflow.compat.v1 as tf
from notes import Notes


class NotedSaves(tf.train.CheckpointSaverListener):  # type: ignore[misc]  # it ships no types
    """Of whoever saves."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def before_save(self, session: tf.Session, global_step_value: int) -> None:
        self._notes.saving(global_step_value)

    def after_save(self, session: tf.Session, global_step_value: int) -> None:
        self._notes.saved(global_step_value)


class NotedBeginning(tf.train.SessionRunHook):  # type: ignore[misc]
    """From which step a session goes on."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        self._notes.begins(session.run(tf.train.get_global_step()))
