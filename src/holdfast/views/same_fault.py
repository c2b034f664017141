"""Findings of several tasks that say the same, as one: a person reads a fault once."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from holdfast.model.words import NAMES_MAX, listed
from holdfast.views.task_names import task_names

_NAME_GOES_ON: Final = frozenset("_-.:/")  # worker:1 is no part of worker:10 or of my-worker:1
_PLURAL: Final = {"is": "are", "was": "were", "has": "have", "does": "do"}
_OF_ONE: Final = frozenset({"it", "its", "itself"})
_BOTH: Final = 2
# Verbs that say the same of one task and of many. Another verb stays with the one it was said of.
_SAME_FOR_MANY: Final = frozenset({"cannot", "could", "lost", "must", "never"})

Shown = dict[str, Any]


def with_same_faults_joined(report: Shown) -> Shown:
    """The same report, for people: n tasks with one fault are one finding that lists them."""
    return {**report, "findings": same_faults_joined(report["findings"])}


def same_faults_joined(findings: Sequence[Shown]) -> list[Shown]:
    """Each fault once, where it came first."""
    alike: dict[object, list[Shown]] = {}
    for number, found in enumerate(findings):
        alike.setdefault(_fault(found, number), []).append(found)
    return [_joined(group) if len(group) > 1 else group[0] for group in alike.values()]


def speaks_of(text: str, name: str) -> bool:
    """Whether a text has this name in it, as a name of its own."""
    return any(True for _ in _places(text, name))


def _fault(found: Shown, number: int) -> object:
    """What two findings must share to be one; a finding of nobody stays alone."""
    culprit = found["culprit"]
    if not culprit:
        return number
    says = _replaced(found["says"], culprit, "\0")
    return found["cause"], found["severity"], found["confidence"], says


def _joined(group: Sequence[Shown]) -> Shown:
    first = group[0]
    culprits = list(dict.fromkeys(found["culprit"] for found in group))
    hosts = list(dict.fromkeys(found["host"] for found in group if found["host"]))
    echoes = {(echo["task"], echo["cause"]): echo for found in group for echo in found["echoes"]}
    return {
        **first,
        "culprit": many_names(culprits),
        "host": listed(hosts),
        "since": min((found["since"] for found in group if found["since"]), default=None),
        "says": _says(first["says"], culprits),
        "do": list(dict.fromkeys(step for found in group for step in _steps(found, first))),
        "echoes": [echo for (task, _), echo in echoes.items() if task not in culprits],
    }


def many_names(names: Sequence[str]) -> str:
    """`worker:0, worker:1 and worker:2`; of many, worker:0-7."""
    return listed(names) if len(names) <= NAMES_MAX else task_names(names)


def _says(says: str, culprits: Sequence[str]) -> str:
    """The sentence of the first, with all names in its place where that is still English."""
    first, *others = culprits
    after = says.removeprefix(first)
    verb, _, rest = after.strip().partition(" ")
    clause = {word.strip(",;") for word in rest.partition(":")[0].split()}
    if says.startswith(f"{first} ") and not clause & _OF_ONE and _is_plural_known(verb):
        return f"{many_names(culprits)} {_PLURAL.get(verb, verb)} {rest}".rstrip()
    return f"{says.rstrip('.')} (and the same of {many_names(others)})"


def _is_plural_known(verb: str) -> bool:
    return verb in _PLURAL or verb in _SAME_FOR_MANY or verb.endswith("ed")


def _steps(found: Shown, first: Shown) -> Iterator[str]:
    """Its fixes, unless they are those of the first with another name."""
    others = {_replaced(step, first["culprit"], "\0") for step in first["do"]}
    for step in found["do"]:
        if found is first or _replaced(step, found["culprit"], "\0") not in others:
            yield step


def _replaced(text: str, name: str, by: str) -> str:
    kept, start = [], 0
    for place in _places(text, name):
        kept += [text[start:place], by]
        start = place + len(name)
    return "".join((*kept, text[start:]))


def _places(text: str, name: str) -> Iterator[int]:
    place = text.find(name) if name else -1
    while place >= 0:
        after = text[place + len(name) : place + len(name) + _BOTH]
        ends = not after[:1].isalnum() and not (after[:1] in _NAME_GOES_ON and after[1:].isalnum())
        before = text[place - 1 : place]
        if ends and not before.isalnum() and before not in _NAME_GOES_ON:
            yield place
        place = text.find(name, place + len(name))
