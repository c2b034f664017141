"""What tasks found when they compared what they have built, and who is the odd one out."""

from collections.abc import Iterable

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import VersionsSeen
from holdfast.model.told_facts import DifferenceTold
from holdfast.model.words import listed

MISSING = "missing"
VALUES_SHOWN_MAX = 4
STOPPED = "Disagreement"  # how the exception is called that ends a program over it


def told_differences(evidence: Evidence) -> tuple[DifferenceTold, ...]:
    """Each difference that stops the training once, as told by who knew most about it."""
    return tuple(fact for fact in _best_told(evidence) if fact.stops)


def borne_differences(evidence: Evidence) -> tuple[DifferenceTold, ...]:
    """Those with which the training goes on, but perhaps not as it is meant to.

    Versions are a cause of their own; numbers of elements differ wherever files do.
    """
    return tuple(fact for fact in _best_told(evidence) if not fact.stops and _is_meant(fact))


def _best_told(evidence: Evidence) -> Iterable[DifferenceTold]:
    found: dict[tuple[str, str], DifferenceTold] = {}
    for fact in evidence.of(DifferenceTold):
        key = (fact.about, fact.name)
        if key not in found or _known(fact) > _known(found[key]):
            found[key] = fact
    return found.values()


def _is_meant(fact: DifferenceTold) -> bool:
    is_input = fact.name == "shard" or fact.name.startswith("batch size")
    return fact.about == "graph" or (fact.about == "input" and is_input)


def is_of_variables(fact: DifferenceTold) -> bool:
    """Whether all have the variable, and not of the same shape and type."""
    return fact.about == "variable" and fact.name != "order" and MISSING not in fact.values


def odd_one(evidence: Evidence, told: Iterable[DifferenceTold]) -> TaskId | None:
    """The one task that differs from most in all of them; None: nobody, or more than one."""
    builders = sum(1 for task in evidence.tasks if task.trains)
    odd = {name for fact in told for name in _minority(fact, builders)}
    by_name = {str(task): task for task in evidence.tasks}
    return by_name.get(odd.pop()) if len(odd) == 1 else None


def difference_text(fact: DifferenceTold) -> str:
    """As a part of a sentence: variable dense/kernel (float32 [2] in worker:1, …)."""
    groups = sorted(fact.values.items(), key=lambda item: len(item[1]))
    said = [f"{what} in {listed(who)}" for what, who in groups[:VALUES_SHOWN_MAX]]
    return f"{fact.about} {fact.name} ({'; '.join(said)})"


def versions_told(evidence: Evidence) -> list[VersionsSeen]:
    """The versions of those tasks that were found to differ in them."""
    by_task: dict[str, dict[str, str]] = {}
    first: dict[str, DifferenceTold] = {}
    for fact in evidence.of(DifferenceTold):
        pairs = [(what, name) for what, names in fact.values.items() for name in names]
        for what, name in pairs if fact.about == "version" else ():
            by_task.setdefault(name, {})[fact.name] = what
            first.setdefault(name, fact)
    tasks = {str(task): task for task in evidence.tasks}
    return [
        VersionsSeen(
            at_s=first[name].at_s,
            host=first[name].host,
            task=tasks[name],
            interpreter="",
            versions=versions,
        )
        for name, versions in by_task.items()
        if name in tasks
    ]


def _known(fact: DifferenceTold) -> int:
    return sum(map(len, fact.values.values()))


def _minority(fact: DifferenceTold, builders: int) -> Iterable[str]:
    """Who differs from most of all that build; not of those that are known by now."""
    if fact.odd:
        return fact.odd
    groups = sorted(fact.values.values(), key=len, reverse=True)
    others = [name for group in groups[1:] for name in group]
    enough = bool(groups) and 2 * len(groups[0]) > max(builders, _known(fact))
    return others if enough else ["", "nobody"]
