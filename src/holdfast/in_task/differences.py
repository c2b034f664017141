"""Whether all tasks have built the same: fingerprints in, differences out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

MISSING = "missing"
VALUE_LENGTH_MAX, NAME_LENGTH_MAX = 400, 200
DIFFERENCES_MAX = 32
TASKS_SHOWN_MAX = 8

if TYPE_CHECKING:  # a Python 3.8 cannot make it
    Fingerprint = dict[str, Any]  # as fingerprint.py makes it: JSON


class Difference(NamedTuple):
    """One thing that is not the same everywhere; what most tasks have comes first."""

    about: str  # variable, layer, optimizer, loss, strategy, input, version, setting
    name: str
    values: dict[str, list[str]]  # what -> the tasks that have it
    stops: bool  # whether training over it would hang, fail, or learn nonsense

    @property
    def odd(self) -> list[str]:
        """Who differs from most; nobody where there is no majority."""
        groups = list(self.values.values())
        most, others = groups[0], [task for group in groups[1:] for task in group]
        return others if len(most) > len(others) else []

    def __str__(self) -> str:
        parts = [f"{what} in {_listed(tasks)}" for what, tasks in self.values.items()]
        return "{} {}: {}".format(self.about, self.name, "; ".join(parts))


def differences(prints: dict[str, Fingerprint]) -> list[Difference]:
    """Between the fingerprints of some tasks: what stops the training first."""
    found = [
        difference
        for (about, name, stops), values in sorted(_facets(prints).items())
        if len(values) > 1 and (difference := _difference(about, name, values, stops=stops))
    ]
    if not any(one.about == "variable" for one in found):
        found += _orders(prints)
    found.sort(key=lambda one: (not one.stops, one.about != "variable"))
    return found[:DIFFERENCES_MAX]


def _facets(
    prints: dict[str, Fingerprint],
) -> dict[tuple[str, str, bool], dict[str, list[str]]]:
    """Of each thing, who has which value."""
    owned = {task: _values(one) for task, one in prints.items()}
    keys = {key for values in owned.values() for key in values}
    found: dict[tuple[str, str, bool], dict[str, list[str]]] = {}
    for key in keys:
        for task in sorted(owned, key=_order):
            found.setdefault(key, {}).setdefault(owned[task].get(key, MISSING), []).append(task)
    return found


def _values(one: Fingerprint) -> dict[tuple[str, str, bool], str]:
    values = {
        ("variable", name, True): what
        for name, what in zip(_names(one), _whats(one))  # noqa: B905 - Python 3.8 has no strict
    }
    for about, name, what, stops in one.get("facets", ()):
        values[(str(about), str(name)[:NAME_LENGTH_MAX], bool(stops))] = _short(what)
    return values


def _difference(
    about: str, name: str, values: dict[str, list[str]], *, stops: bool
) -> Difference | None:
    if about == "version" and MISSING in values:
        return None  # nobody says which: that is no difference
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), _order(item[1][0])))
    return Difference(about, name, dict(ordered), stops)


def _orders(prints: dict[str, Fingerprint]) -> list[Difference]:
    """Collectives go by the order in which variables were made."""
    by_order: dict[str, list[str]] = {}
    for task in sorted(prints, key=_order):
        by_order.setdefault(_short(", ".join(_names(prints[task]))), []).append(task)
    if len(by_order) < 2 or any(one.get("by_name") for one in prints.values()):  # noqa: PLR2004
        return []
    found = _difference("variable", "order", by_order, stops=True)
    return [found] if found else []


def _names(one: Fingerprint) -> list[str]:
    """The variables' names, without the numbers that Keras adds to make them unlike."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for name, _ in one.get("variables", ()):
        plain = str(name) if one.get("by_name") else _plain(str(name))
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
