"""A task's own place in the words of its command: `--task_index={index}`.

Programs for TensorFlow 1 take it from flags, and so do many for PyTorch and JAX. Braces around any
other name mean something to somebody else, and are left alone: JSON, `{}` of xargs, `${NAME}` of a
shell, the code behind `python -c`. Only a name that is almost right is refused.
"""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.foreign import JAX, TORCH, host_of, variables
from holdfast.model.pattern import Pattern

# Of the process itself: who does not train is not counted among the processes.
COUNTED = ("rank", "process_id", "local_rank", "local_world_size")
NAMES = (
    *("role", "index", "address", "host", "port"),
    *("chief_hosts", "worker_hosts", "ps_hosts"),
    *("world_size", "master_addr", "master_port", "coordinator_address", "num_processes"),
    *COUNTED,
)
ALIKE_MIN = 0.82  # {rol} is meant as {role}, and {import} not as {port}
# What TensorFlow's flags and TF_CONFIG call it.
_OTHER_NAMES = {
    "job_name": "role",
    "task_type": "role",
    "task_index": "index",
    "task_id": "index",
    "local_world": "local_world_size",
    "master_address": "master_addr",
}
_BRACES = Pattern(r"(\$?)(\{\{?)([A-Za-z_][A-Za-z0-9_]*)(\}\}?)")
_PYTHON = Pattern(r"^(?:.*/)?python[0-9.]*$")


def place_of(task: TaskId, cluster: ClusterSpec) -> dict[str, str]:
    """What each placeholder means to one task; a list of nobody is empty."""
    address = cluster.addresses.get(task, "")
    trainers = ClusterSpec({one: where for one, where in cluster.addresses.items() if one.trains})
    first = min(trainers.addresses, default=task)
    shared, own = _counted(first, trainers), _counted(task, trainers)
    hosts = {
        f"{role}_hosts": ",".join(
            cluster.addresses[one] for one in sorted(cluster.addresses) if one.role == role
        )
        for role in ("chief", "worker", "ps")
    }
    known = {
        "role": task.role,
        "index": str(task.index),
        "address": address,
        "host": host_of(address),
        "port": address.rpartition(":")[2],
        **hosts,
        **{name: value for name, value in shared.items() if name not in COUNTED},
        **own,
    }
    return {name: known.get(name, "") for name in NAMES}


def fill_command(words: Sequence[str], place: Mapping[str, str]) -> tuple[str, ...]:
    code = _python_code_at(words)
    return tuple(word if at == code else fill(word, place) for at, word in enumerate(words))


def fill(text: str, place: Mapping[str, str]) -> str:
    """With the values in place of their names; `{{rank}}` is a literal `{rank}`."""
    filled, start = "", 0
    for found in _BRACES.each(text):
        shell, opening, name, closing = found.groups()
        filled += text[start : found.start()]
        start = found.end()
        if shell or not (name in NAMES or _meant(name)):
            filled += found.group(0)
        elif len(opening) == len(closing) > 1:
            filled += f"{{{name}}}"
        else:
            filled += opening[1:] + place.get(name, f"{{{name}}}") + closing[1:]
    return filled + text[start:]


def names_in(words: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """What stands in single braces, as it is written: placeholders, and what may be meant so."""
    code = _python_code_at(words)
    for text in (*(word for at, word in enumerate(words) if at != code), *env.values()):
        for found in _BRACES.each(text):
            shell, opening, name, closing = found.groups()
            if not shell and not len(opening) == len(closing) > 1:
                yield name


def mistaken(name: str) -> str:
    """The placeholder that was meant by a name which is none; empty: nothing of ours is meant."""
    return "" if name in NAMES else _meant(name)


def _meant(name: str) -> str:
    low = name.lower()
    if low in _OTHER_NAMES:
        return _OTHER_NAMES[low]
    from difflib import get_close_matches  # noqa: PLC0415 - memory that a run in peace need not hold

    return next(iter(get_close_matches(low, NAMES, n=1, cutoff=ALIKE_MIN)), "")


def _counted(task: TaskId, trainers: ClusterSpec) -> dict[str, str]:
    """What PyTorch and JAX call it, in lower case."""
    both = {**variables(TORCH, trainers, task), **variables(JAX, trainers, task)}
    return {name.removeprefix("JAX_").lower(): value for name, value in both.items()}


def _python_code_at(words: Sequence[str]) -> int | None:
    """Which word is a program that Python reads from its command line: braces are its own there."""
    python = next((at for at, word in enumerate(words) if _PYTHON.search(word)), None)
    if python is None:
        return None
    at = python + 1
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if option.endswith("c") and not option.startswith(("--", "-W", "-X")):
            return at + 1
        at += 2 if option in {"-W", "-X"} else 1
    return None
