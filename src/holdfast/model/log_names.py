"""Whose output something is by its name alone: a file, a pod, a line's prefix."""

from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId
from holdfast.model.pattern import Pattern

NAME_LENGTH_MAX = 1_000
_ROLES = r"chief|worker|ps|evaluator|master|rank|trainer|jax_worker|process|proc|task"
_INDEXED = Pattern(rf"(?i)(?:^|[^a-z])(?P<role>{_ROLES})[-_:.=]?(?P<index>\d+)(?:[^0-9a-z]|$)")
_ALONE = Pattern(r"(?i)(?:^|[^a-z])(?P<role>chief|evaluator|master)(?:[^a-z]|$)")
_SHORT = Pattern(
    r"(?i)^w(?P<index>\d{1,5})(?:\.[a-z]+)*$"
)  # `w1.log`, and nothing else in the name
# `slurm-123_4.out` is the output of the fourth task of an array.
_OF_AN_ARRAY = Pattern(r"^slurm-\d+_(?P<index>\d+)(?:\D|$)")
# What a program of one kind calls its members, in the words of all.
_MEANT = {"process": "jax_worker", "proc": "jax_worker", "trainer": "rank"}
_STREAMS = {
    "err": Pattern(r"(?i)(?:^|[^a-z])(?:std)?err(?:or)?(?:[^a-z]|$)"),
    "out": Pattern(r"(?i)(?:^|[^a-z])(?:std)?out(?:put)?(?:[^a-z]|$)"),
}
_STREAM_WORD = Pattern(r"(?i)[-_.](?:std)?(?:err(?:or)?|out(?:put)?)\b")
_ENDING = Pattern(r"(?i)(?:\.(?:log|txt|err|out|gz|zst|xz|bz2|json|\d{1,3}|old))+$")
_HOST_LIKE = Pattern(r"^(?:host-[a-z0-9]|(?:host|node|nid|gpu|compute|cn|ip)-?\d)[\w.-]*$")


def task_in_name(name: str) -> TaskId | None:
    """The task that a name tells, such as `tf-job-worker-2.log` or `logs/rank_7/stderr`.

    The file's own name counts first, then the folders around it, the nearest first.
    """
    for part in reversed(name[-NAME_LENGTH_MAX:].replace("\\", "/").split("/")):
        if task := _in_part(part):
            return task
    return None


def _in_part(part: str) -> TaskId | None:
    if array := _OF_AN_ARRAY.search(part):
        return _task("task", array.group("index"))
    found = list(_INDEXED.each(part))
    if found:
        return _task(found[-1].group("role").lower(), found[-1].group("index"))
    if short := _SHORT.search(part):
        return _task("worker", short.group("index"))
    alone = _ALONE.search(part)
    return _task(alone.group("role").lower(), "0") if alone else None


def _task(role: str, index: str) -> TaskId | None:
    if len(index) > INDEX_DIGITS_MAX:
        return None
    return TaskId(_MEANT.get(role, role), int(index))


def stream_in_name(name: str) -> str:
    """`err` or `out` where the name says so; empty where it does not."""
    last = name[-NAME_LENGTH_MAX:].rpartition("/")[2]
    return next((stream for stream, word in _STREAMS.items() if word.search(last)), "")


def stem(name: str) -> str:
    """What the files of one task share: without the stream, the ending, the rotation's number."""
    bare = name[-NAME_LENGTH_MAX:]
    folder, slash, last = bare.rpartition("/")
    found = _ENDING.search(last)
    last = last[: found.start()] if found else last
    word = _STREAM_WORD.search(last)
    return folder + slash + (last[: word.start()] + last[word.end() :] if word else last)


def manner(name: str) -> str:
    """How a file is named around its task: `job-worker-1` and `job-ps-0` in one manner."""
    last = stem(name).rpartition("/")[2]
    found = list(_INDEXED.each(last)) or list(_ALONE.each(last))
    return f"{last[: found[-1].start()]}*{last[found[-1].end() :]}" if found else last


def host_in_name(name: str) -> str:
    """A host, where the file is named like one."""
    last = stem(name).rpartition("/")[2]
    return last if _HOST_LIKE.search(last) else ""
