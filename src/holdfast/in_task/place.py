"""Who this process is, and where Holdfast listens: the environment is read here and nowhere else.

Without Holdfast around it a process still has its TF_CONFIG; without that it is alone.
"""

from __future__ import annotations

import json
import os
from typing import Any

SOCKET = "told.sock"
PATH_BYTES_MAX = 107  # of a unix socket, by the kernel
_ROLE_LENGTH_MAX, _INDEX_MAX = 63, 999_999
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


def folder() -> str:
    """The folder of this run in which tasks may leave something; empty: there is none."""
    given = os.environ.get("HOLDFAST_IN_TASK_DIR", "")
    return given if given.startswith("/") else ""


def attempt() -> int:
    given = os.environ.get("HOLDFAST_ATTEMPT", "")
    return int(given) if given.isdigit() else 1


def task() -> str:
    """Such as worker:3; empty: nobody has given it a name."""
    given = os.environ.get("HOLDFAST_TASK", "")
    if is_task(given):
        return given
    found = tf_config().get("task", {})
    if not isinstance(found, dict):
        return ""
    name = "{}:{}".format(found.get("type", ""), found.get("index", 0))
    return name if is_task(name) else ""


def is_task(name: str) -> bool:
    """Whether a name is one of a task, and safe as a part of a file's name."""
    role, _, index = name.partition(":")
    return (
        0 < len(role) <= _ROLE_LENGTH_MAX
        and _PLAIN.issuperset(role)
        and index.isdigit()
        and int(index) <= _INDEX_MAX
    )


def file_stem(name: str) -> str:
    """How a task's files are called: worker-3; a process without a task is called by its pid."""
    return name.replace(":", "-") if is_task(name) else "pid-%d" % os.getpid()  # noqa: UP031


def tf_config() -> dict[str, Any]:
    """What TensorFlow was told of the cluster; nothing where that cannot be read."""
    try:
        found = json.loads(os.environ.get("TF_CONFIG") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def cluster() -> dict[str, int]:
    """How many tasks each role has."""
    found = tf_config().get("cluster", {})
    if not isinstance(found, dict):
        return {}
    return {role: len(of) for role, of in found.items() if isinstance(of, (list, dict, tuple))}


def hosts() -> set[str]:
    """The hosts on which the tasks are, by their addresses."""
    found = tf_config().get("cluster", {})
    roles = list(found.values()) if isinstance(found, dict) else []
    listed = [list(of.values()) if isinstance(of, dict) else of for of in roles]
    return {
        str(address).rpartition(":")[0]
        for of in listed
        if isinstance(of, (list, tuple))
        for address in of
    }


def is_chief() -> bool:
    """Whether this process leads: it alone writes what there must be once."""
    role, _, index = task().partition(":")
    if role in ("", "chief", "master"):
        return True
    has_other = any(cluster().get(other) for other in ("chief", "master"))
    return role == "worker" and int(index) == 0 and not has_other


def seeds_given() -> dict[str, str]:
    """The variables that decide whether two runs compute the same."""
    names = ("TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "TF_ENABLE_ONEDNN_OPTS")
    return {name: os.environ[name] for name in names if name in os.environ}
