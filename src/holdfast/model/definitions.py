"""Who has which cluster definition, and how a sentence speaks of them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, SpecRead, SpecUnreadable
from holdfast.model.words import listed

NAMED_MAX = 3  # of anything in one sentence; the rest is counted
SHOWN_LENGTH_MAX = 60
Spec = TypeVar("Spec", SpecRead, SpecUnreadable)
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Definition:
    """One cluster as written, and all who have it."""

    cluster: Mapping[str, Mapping[str, str]]
    specs: tuple[SpecRead, ...]


def specs_in_use(evidence: Evidence) -> list[SpecRead]:
    """What every source said last, without what we handed out ourselves."""
    return newest(spec for spec in evidence.of(SpecRead) if not spec.given)


def newest(specs: Iterable[Spec]) -> list[Spec]:
    """Of each source only what it said last."""
    last = {(spec.host, spec.source, spec.pid, spec.task): spec for spec in specs}
    return list(last.values())


def definitions(evidence: Evidence) -> list[Definition]:
    """The clusters in use, each once: hundreds of tasks mostly have the same one."""
    same: dict[Hashable, list[SpecRead]] = {}
    for spec in specs_in_use(evidence):
        if any(spec.cluster.values()):
            same.setdefault(as_written(spec.cluster), []).append(spec)
    return [Definition(specs[0].cluster, tuple(specs)) for specs in same.values()]


def as_written(cluster: Mapping[str, Mapping[str, str]]) -> Hashable:
    """Equal for equal texts. Cheap: Python remembers the hash of each string."""
    return tuple((role, tuple(tasks), tuple(tasks.values())) for role, tasks in cluster.items())


def gathered(found: Iterable[tuple[Key, Definition]]) -> dict[Key, list[SpecRead]]:
    """Everybody who makes the same mistake, mistake by mistake."""
    who: dict[Key, list[SpecRead]] = {}
    for mistake, definition in found:
        who.setdefault(mistake, []).extend(definition.specs)
    return who


def by_culprit(specs: Iterable[Spec]) -> dict[TaskId | None, list[Spec]]:
    """The same mistake, task by task; when many make it, no single one of them is to blame."""
    found: dict[TaskId | None, list[Spec]] = {}
    together: list[Spec] = []
    for spec in specs:
        found.setdefault(spec.task, []).append(spec)
        together.append(spec)
    return found if len(found) <= NAMED_MAX else {None: together}


def blamed(
    specs: Sequence[SpecRead], evidence: Evidence, *, concerned: Iterable[TaskId] = ()
) -> TaskId | None:
    """Who is to blame for a mistake in a definition.

    The only one who makes it, if others do not; else the only task that it is about.
    """
    tasks = {spec.task for spec in specs}
    about = set(concerned)
    if len(tasks) == 1 and len(specs_in_use(evidence)) > len(specs):
        return tasks.pop()
    return about.pop() if len(about) == 1 else None


def proving(specs: Sequence[Fact]) -> tuple[Fact, ...]:
    """Enough facts for a proof: a thousand equal ones prove no more than three."""
    return tuple(specs[:NAMED_MAX])


def owner(spec: SpecRead | SpecUnreadable) -> str:
    """Whose definition it is, as a person would say."""
    if spec.task is None:
        return shown(spec.source)
    return f"{spec.task} (pid {spec.pid})" if spec.pid else f"{shown(spec.source)} ({spec.task})"


def owners(specs: Sequence[SpecRead | SpecUnreadable]) -> str:
    """All of them, the first three by name."""
    several_hosts = len({spec.host for spec in specs}) > 1
    where = [f" on {spec.host}" if several_hosts and spec.host else "" for spec in specs]
    named = zip(specs[:NAMED_MAX], where, strict=False)
    return listed([owner(spec) + host for spec, host in named], total=len(specs))


def clauses(says: Sequence[str]) -> str:
    """The first three of many, and how many more there are."""
    more = len(says) - NAMED_MAX
    return "; ".join([*says[:NAMED_MAX], *([f"and {more} more like these"] if more > 0 else [])])


def shown(text: str) -> str:
    """A stranger's text in a sentence: one line, bounded, nothing that a terminal obeys."""
    cut = text if len(text) <= SHOWN_LENGTH_MAX else f"{text[: SHOWN_LENGTH_MAX - 1]}…"
    return cut if cut.isprintable() else repr(cut)[1:-1]
