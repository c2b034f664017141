"""Whose log it is: what its own lines tell of the task that wrote them, and of its cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from holdfast.model.cluster import TaskId
from holdfast.model.pattern import Pattern, WhichOf
from holdfast.model.spec import KNOWN_ROLES, NAME_LENGTH_MAX, task_named

TEXT_LENGTH_MAX = 16_384
MEMBERS_MAX = 4_096
Cluster = Mapping[str, Mapping[str, str]]  # role -> index -> address, all as written

# The lines worth reading for this alone.
HEARS = (
    Pattern(r"[\"']cluster\\?[\"']\s*:"),
    Pattern(r"\{u?\\?[\"'](?:chief|master|worker|ps)\\?[\"']: ?\["),
    Pattern(r"task_type['\"]?\s?[=:] u?['\"]"),
    Pattern(r"--?job_name[= ]"),
    Pattern(r"Started server with target: grpc://"),
    Pattern(r"Initialize (?:HostPorts)?GrpcChannelCache for job "),
    Pattern(r"Created (?:TensorFlow )?device \(?/job:"),
    Pattern(r"distributed init \(rank \d|GLOBAL_RANK: \d|\bRANK=\d|\b[Rr]ank \d+ of \d"),
    Pattern(r"(?:JAX|jax)[ .]process(?:_index)?(?:\(\))?[:= ]+\d|process \d+ of \d"),
)
_TASK = Pattern(r"[\"']task[\"']\s*:\s*\{([^{}]*)\}")
_TYPE = Pattern(r"[\"']type[\"']\s*:\s*u?[\"']([a-z_]+)[\"']")
_INDEX = Pattern(r"[\"']index[\"']\s*:\s*u?[\"']?(\d+)")
_CLUSTER = Pattern(r"\{\s*u?[\"'][a-z_]+[\"']\s*:\s*\[[^{}]*\]\s*\}")
_ROLE = Pattern(r"[\"']([a-z_]+)[\"']\s*:\s*\[([^\[\]]*)\]")
_ADDRESS = Pattern(r"^\s*[A-Za-z0-9_.\[\]:-]+:\d{1,5}\s*$")
_CONFIGURED = Pattern(
    r"task_type[\"']?\s?[=:] u?[\"'](?P<role>\w+)[\"'], [\"']?_?task_id[\"']?\s?[=:] (?P<index>\d+)"
)
_ALONE = "ClusterSpec({})"
_JOB_FLAG = Pattern(r"--?job_name[= ][\"']?([a-z_]+)")
_INDEX_FLAG = Pattern(r"--?task_(?:index|id)[= ][\"']?(\d+)")
_SERVER = Pattern(r"Started server with target: grpc://\s*([A-Za-z0-9_.\[\]:-]+:\d+)")
_CHANNELS = Pattern(r"Initialize (?:HostPorts)?GrpcChannelCache for job ([a-z_]+) -> \{([^{}]*)\}")
_CHANNEL = Pattern(r"(\d+) -> ([^\s,{}]+)")
_DEVICE = Pattern(r"Created (?:TensorFlow )?device \(?/job:([a-z_]+)/replica:\d+/task:(\d+)")
_RANK = Pattern(
    r"distributed init \(rank (\d+)\)|GLOBAL_RANK: (\d+)|\bRANK=(\d+)|\b[Rr]ank (\d+) of \d+"
)
_JAX = Pattern(r"(?:JAX|jax)[ .](?:process|process_index(?:\(\))?)[:= ]+(\d+)|process (\d+) of \d+")
_LOOPBACK = ("localhost:", "127.0.0.1:", "[::1]:", "0.0.0.0:")
# From what a task was told to be to what only hints at it.
KINDS = ("config", "flags", "server", "device", "rank")


@dataclass(frozen=True, slots=True)
class Clue:
    """What one line tells of who wrote it."""

    kind: str  # one of KINDS, or cluster, channels
    task: TaskId | None = None
    address: str = ""
    cluster: Cluster = field(default_factory=dict)
    line: int = 0


def clues_in(text: str, *, line: int = 0) -> Iterator[Clue]:
    """Everything that a line tells of its own task and of the cluster. Most lines tell nothing."""
    if not _which().matching(text[:TEXT_LENGTH_MAX]):
        return
    text = text[:TEXT_LENGTH_MAX].replace('\\"', '"')
    own = _own(text)
    if own is not None and not (_ALONE in text and own[1].role == "worker"):
        yield Clue(own[0], own[1], line=line)
    if cluster := cluster_in(text):
        told = own[1] if own and own[0] == "config" else None
        yield Clue("cluster", told, cluster=cluster, line=line)
    if server := _SERVER.search(text):
        yield Clue("server", address=server.group(1), line=line)
    if channels := _CHANNELS.search(text):
        listed = channels.group(2)
        found = {index.group(1): index.group(2) for index in _CHANNEL.each(listed)}
        if not found:  # the first versions did not write which is which
            found = {str(at): address.strip() for at, address in enumerate(listed.split(","))}
        yield Clue("channels", cluster={channels.group(1): found}, line=line)


@cache
def _which() -> WhichOf:
    return WhichOf(HEARS)


def _own(text: str) -> tuple[str, TaskId] | None:
    """The task that a line says it is of, and how it says so."""
    if told := _TASK.search(text):
        role, index = _TYPE.search(told.group(1)), _INDEX.search(told.group(1))
        if role and index and (task := task_named(role.group(1), index.group(1))):
            return "config", task
    if told := _CONFIGURED.search(text):
        task = task_named(told.group("role"), told.group("index"))
        return ("config", task) if task else None
    role, index = _JOB_FLAG.search(text), _INDEX_FLAG.search(text)
    if role and index and (task := task_named(role.group(1), index.group(1))):
        return "flags", task
    device = _DEVICE.search(text)
    if device and device.group(1) != "localhost":
        task = task_named(device.group(1), device.group(2))
        return ("device", task) if task else None
    for role_name, pattern in (("rank", _RANK), ("jax_worker", _JAX)):
        if (found := pattern.search(text)) and (task := task_named(role_name, _number(found))):
            return "rank", task
    return None


def _number(found: Any) -> str:
    return str(next(group for group in found.groups() if group is not None))


def cluster_in(text: str) -> Cluster:
    """The first cluster definition in a text, as JSON or as Python prints it; empty: none."""
    for found in _CLUSTER.each(text):
        cluster: dict[str, dict[str, str]] = {}
        for role in _ROLE.each(found.group(0)):
            listed = [_unquoted(one) for one in role.group(2).split(",") if one.strip()]
            if len(listed) > MEMBERS_MAX or not all(map(_ADDRESS.search, listed)):
                cluster = {}
                break
            cluster[role.group(1)] = {str(at): one for at, one in enumerate(listed)}
        if cluster.keys() & set(KNOWN_ROLES):
            return cluster
    return {}


def _unquoted(text: str) -> str:
    bare = text.strip().removeprefix("u")
    return bare.strip("\"'")[:NAME_LENGTH_MAX]


def members_of(clues: Iterable[Clue]) -> dict[TaskId, str]:
    """Every task that these clues name as a member, with its address."""
    return {
        task: address
        for clue in clues
        for role, listed in clue.cluster.items()
        for index, address in listed.items()
        if (task := task_named(role, index)) is not None
    }


def told_by(clues: Sequence[Clue], members: Mapping[TaskId, str]) -> TaskId | None:
    """The one task that a log's own lines claim to be; None where they claim none, or several.

    `members` are those of the cluster as the logs of all tasks define it.
    """
    for kind in KINDS:
        claimed = {task for clue in clues if clue.kind == kind for task in _tasks(clue, members)}
        if kind == "server" and not claimed:
            claimed = _its_own_channels(clues)
        if claimed:
            return claimed.pop() if len(claimed) == 1 else None
    return None


def _tasks(clue: Clue, members: Mapping[TaskId, str]) -> list[TaskId]:
    if clue.task is not None:
        return [clue.task]
    at = [task for task, address in members.items() if address.strip() == clue.address]
    port = clue.address.rpartition(":")[2]
    same_port = [task for task, address in members.items() if address.endswith(f":{port}")]
    # A server calls itself localhost: then its port must be enough.
    return at[:1] or (same_port if len(same_port) == 1 else [])


def _its_own_channels(clues: Sequence[Clue]) -> set[TaskId]:
    """TensorFlow 1 lists its own place as localhost, unless all are there."""
    members = members_of(clue for clue in clues if clue.kind == "channels")
    here = {task for task, address in members.items() if address.startswith(_LOOPBACK)}
    return here if len(here) == 1 and len(members) > 1 else set()
