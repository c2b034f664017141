"""Whether all tasks have built the same: fingerprints in, differences out."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from .version_rules import fit

MISSING = "missing"
VALUE_LENGTH_MAX, NAME_LENGTH_MAX = 400, 200
DIFFERENCES_MAX = 32
TASKS_SHOWN_MAX, ORDER_SHOWN_MAX = 8, 8
SETTING, SHARD = "setting", ("input", "shard")
# By whose version it depends how the same thing is called.
SAID_BY = {"layer": "keras", "optimizer": "keras", "loss": "keras", "graph": "tensorflow"}

if TYPE_CHECKING:  # a Python before 3.9 cannot make it
    from collections.abc import Iterable

    Fingerprint = dict[str, Any]  # as fingerprint.py makes it: JSON
    Key = tuple[str, str, bool]


class Difference(NamedTuple):
    """One thing that is not the same everywhere; what most tasks have comes first."""

    about: str  # variable, layer, optimizer, loss, strategy, graph, input, version, setting
    name: str
    values: dict[str, list[str]]  # what -> the tasks that have it
    stops: bool  # whether training over it would hang, fail, or learn nonsense
    tasks: int = 0  # how many there are, those that have not answered included

    @property
    def odd(self) -> list[str]:
        """Who differs from most of all tasks; nobody where there is no majority, or not yet."""
        groups = list(self.values.values())
        most, others = groups[0], [task for group in groups[1:] for task in group]
        known = len(most) + len(others)
        return others if 2 * len(most) > max(known, self.tasks) else []

    def __str__(self) -> str:
        parts = [f"{what} in {_listed(tasks)}" for what, tasks in self.values.items()]
        return "{} {}: {}".format(self.about, self.name, "; ".join(parts))


def differences(prints: dict[str, Fingerprint], *, tasks: int = 0) -> list[Difference]:
    """Between the fingerprints of some of so many tasks: what stops the training first."""
    apart = _apart(prints)
    each = (
        _difference(about, name, values, stops=stops)
        for (about, name, stops), values in sorted(_facets(prints, apart).items())
        if len(values) > 1
    )
    found = [one for one in each if one is not None]
    if not any(one.about == "variable" for one in found):
        found += _orders(prints, apart)
    found += _shards(prints)
    found.sort(key=_weight)
    return [one._replace(tasks=tasks) for one in found[:DIFFERENCES_MAX]]


def _weight(one: Difference) -> tuple[bool, bool, bool]:
    """What stops first; with another class of optimizer or layer, its settings are others, too."""
    return (not one.stops, one.about != "variable", not one.name.endswith("class"))


def _apart(prints: dict[str, Fingerprint]) -> frozenset[str]:
    """Of which packages there are versions that call the same things by other names."""
    seen: dict[str, set[str]] = {name: set() for name in SAID_BY.values()}
    for one in prints.values():
        for about, name, what, _ in one.get("facets", ()):
            if about == "version" and name in seen and one.get("builds", True):
                seen[name].add(str(what))
    return frozenset(name for name, versions in seen.items() if not _fit(name, versions))


def _fit(package: str, versions: Iterable[str]) -> bool:
    return all(fit(package, *pair) for pair in combinations(versions, 2))


def _facets(
    prints: dict[str, Fingerprint], apart: frozenset[str]
) -> dict[Key, dict[str, list[str]]]:
    """Of each thing, who has which value."""
    owned = {task: _values(one, apart) for task, one in prints.items()}
    keys = {key for values in owned.values() for key in values}
    found: dict[Key, dict[str, list[str]]] = {}
    for key in keys:
        for task in sorted(owned, key=_order):
            # Who builds nothing misses nothing of what the others build.
            if key in owned[task] or key[0] == SETTING or prints[task].get("builds", True):
                what = owned[task].get(key, MISSING)
                found.setdefault(key, {}).setdefault(what, []).append(task)
    return found


def _values(one: Fingerprint, apart: frozenset[str]) -> dict[Key, str]:
    values = {
        ("variable", name, True): what
        for name, what in zip(_names(one, apart), _whats(one))  # noqa: B905 - for Pythons before 3.10
    }
    for about, name, what, stops in one.get("facets", ()):
        if (about, name) == SHARD or _is_apart(str(about), str(name), apart):
            continue
        values[(str(about), str(name)[:NAME_LENGTH_MAX], bool(stops))] = _short(what)
    return values


def _is_apart(about: str, name: str, apart: frozenset[str]) -> bool:
    """Whether it is only the versions that may have made it different; classes keep their names."""
    return SAID_BY.get(about) in apart and not (about != "loss" and name.endswith("class"))


def _difference(
    about: str, name: str, values: dict[str, list[str]], *, stops: bool
) -> Difference | None:
    if about == "version" and (MISSING in values or _fit(name, values)):
        return None  # nobody says which, or another patch: that is no difference
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), _order(item[1][0])))
    return Difference(about, name, dict(ordered), stops)


def _orders(prints: dict[str, Fingerprint], apart: frozenset[str]) -> list[Difference]:
    """Collectives go by the order in which variables were made."""
    builders = {task: one for task, one in prints.items() if one.get("builds", True)}
    orders = {task: _names(builders[task], apart) for task in sorted(builders, key=_order)}
    if any(one.get("by_name") for one in builders.values()):
        return []
    columns = zip(*orders.values())  # noqa: B905 - for Pythons before 3.10
    first = next((n for n, names in enumerate(columns) if len(set(names)) > 1), None)
    if first is None:
        return []
    by_order: dict[str, list[str]] = {}
    for task, names in orders.items():
        shown = ", ".join(names[first : first + ORDER_SHOWN_MAX])
        by_order.setdefault(_short(shown), []).append(task)
    found = _difference("variable", "order", by_order, stops=True)
    return [found] if found else []


def _shards(prints: dict[str, Fingerprint]) -> list[Difference]:
    """A shard that two tasks read, where there is one for each: then nobody reads another one."""
    readers: dict[str, list[str]] = {}
    builders = sum(1 for one in prints.values() if one.get("builds", True))
    for task in sorted(prints, key=_order):
        for about, name, what, _ in prints[task].get("facets", ()):
            if (about, name) == SHARD and str(what).endswith(f" of {builders}"):
                readers.setdefault(_short(what), []).append(task)
    twice = {what: tasks for what, tasks in readers.items() if len(tasks) > 1}
    return [Difference(*SHARD, {what: tasks}, stops=False) for what, tasks in twice.items()]


def _names(one: Fingerprint, apart: frozenset[str]) -> list[str]:
    """The variables' names, without the numbers that Keras adds to make them unlike."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for name, _ in one.get("variables", ()):
        plain = str(name) if one.get("by_name") else _plain(str(name))
        if "keras" in apart and not one.get("by_name"):
            plain = plain.rpartition("/")[2]  # each Keras has another path before it
        seen[plain] = seen.get(plain, 0) + 1
        again = "" if seen[plain] == 1 else f"#{seen[plain]}"
        names.append((plain + again)[-NAME_LENGTH_MAX:])
    return names


def _plain(name: str) -> str:
    parts = name.partition(":")[0].split("/")
    return "/".join(_without_number(part) for part in parts)


def _without_number(part: str) -> str:
    stem, _, number = part.rpartition("_")
    return stem if stem and number.isdigit() else part


def _whats(one: Fingerprint) -> list[str]:
    return [_short(what) for _, what in one.get("variables", ())]


def _short(what: Any) -> str:
    text = str(what)
    return text if len(text) <= VALUE_LENGTH_MAX else text[: VALUE_LENGTH_MAX - 3] + "..."


def _order(task: str) -> tuple[str, int]:
    role, _, index = task.partition(":")
    return (role, int(index) if index.isdigit() else 0)


def _listed(tasks: list[str]) -> str:
    shown = ", ".join(tasks[:TASKS_SHOWN_MAX])
    more = len(tasks) - TASKS_SHOWN_MAX
    return shown + (f" and {more} more" if more > 0 else "")
