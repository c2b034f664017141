"""Who takes part in a TensorFlow cluster, and where."""

import json
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from holdfast.model.errors import BadInput

ROLES = ("chief", "worker", "ps", "evaluator")
INDEX_DIGITS_MAX = 6
_NAME_LENGTH_MAX = 63
_NAME_CHARACTERS = frozenset(string.ascii_lowercase + string.digits + "_-")


def is_plain_name(text: str) -> bool:
    """Whether a stranger's name is safe in paths, terminals and commands."""
    return (
        0 < len(text) <= _NAME_LENGTH_MAX
        and text[0] in string.ascii_lowercase
        and _NAME_CHARACTERS.issuperset(text)
    )


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One member of the cluster, named as TF_CONFIG names it."""

    role: str
    index: int

    def __str__(self) -> str:
        return f"{self.role}:{self.index}"

    @property
    def trains(self) -> bool:
        """Whether it takes steps: the others serve, or evaluate."""
        return self.role in {"chief", "worker"}

    @classmethod
    def parse(cls, text: str) -> "TaskId":
        role, _, index = text.partition(":")
        plain = index.isascii() and index.isdigit() and len(index) <= INDEX_DIGITS_MAX
        if not (is_plain_name(role) and plain):
            raise BadInput(f"{text!r} is not a task", do="write role:index, such as worker:3")
        return cls(role, int(index))


def chief_of(tasks: Collection[TaskId]) -> TaskId:
    """Worker 0 leads where there is no chief."""
    chief = TaskId("chief", 0)
    return chief if chief in tasks else TaskId("worker", 0)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Every task's address. The same on all hosts, or the job hangs at start."""

    addresses: Mapping[TaskId, str]

    def tf_config(self, task: TaskId) -> str:
        """The TF_CONFIG of one task: real JSON, with the evaluator outside the cluster.

        TensorFlow expects that nobody knows the evaluator: listed as a member, it would
        make the others wait for it.
        """
        by_role: dict[str, list[str]] = {}
        for member in sorted(self.addresses):
            if member.role != "evaluator":
                by_role.setdefault(member.role, []).append(self.addresses[member])
        return json.dumps({"cluster": by_role, "task": {"type": task.role, "index": task.index}})
