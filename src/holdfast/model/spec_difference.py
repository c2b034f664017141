"""Two views of one cluster, compared: what differs, in words for a person."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.address import Complaint, is_loopback, is_unspecified, normalised, parse_address
from holdfast.model.definitions import Definition, shown
from holdfast.model.facts import SpecRead
from holdfast.model.words import listed

Addresses = Mapping[str, str]  # worker:1 -> its address in one spelling
_COUNTED = frozenset({"worker", "chief", "master"})  # whose plural takes an s


@dataclass(frozen=True, slots=True)
class View:
    """A cluster without its evaluator, and all who see it so."""

    addresses: Addresses
    specs: tuple[SpecRead, ...]


def addresses_of(cluster: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Every task's address in one spelling. The evaluator is no member: nobody looks for it."""
    return {
        f"{role}:{index.strip().lstrip('0') or '0'}": normalised(address)
        for role, tasks in cluster.items()
        if role != "evaluator"
        for index, address in tasks.items()
    }


def claim_of(spec: SpecRead) -> str:
    """The name of the task that it says it is for, as `addresses_of` has it."""
    return f"{spec.role}:{spec.index.strip().lstrip('0') or '0'}"


def views(definitions: Sequence[Definition], given: Sequence[Addresses]) -> list[View]:
    """Who sees the same cluster, most common view first."""
    read = [(addresses_of(each.cluster), each.specs) for each in definitions]
    known = [*given, *(addresses for addresses, _ in read)]
    same: dict[Hashable, list[SpecRead]] = {}
    seen: dict[Hashable, Addresses] = {}
    for addresses, specs in read:
        as_it_is = frozenset(addresses.items())
        for spec in specs:
            theirs = _with_real_name(addresses, spec, known)
            key = as_it_is if theirs is addresses else frozenset(theirs.items())
            seen.setdefault(key, theirs)
            same.setdefault(key, []).append(spec)
    found = [View(seen[key], tuple(specs)) for key, specs in same.items()]
    return sorted(found, key=lambda view: -len(view.specs))


def differing(mine: Addresses, theirs: Addresses) -> set[str]:
    """The tasks that the two do not find at the same place."""
    return {name for name, _ in mine.items() ^ theirs.items()}


def difference(mine: Addresses, theirs: Addresses, *, others: str, own: Addresses) -> str:
    """What the first has that the second, called `others`, has not.

    `own` is where each task looks for itself, which is where it listens.
    """
    sizes, others_sizes = _sizes(mine), _sizes(theirs)
    for role in sorted(sizes.keys() | others_sizes.keys()):
        if sizes[role] != others_sizes[role]:
            return f"knows {_count(sizes[role], role)}, {others} {others_sizes[role] or 'none'}"
    names = sorted(differing(mine, theirs))
    if mine.keys() != theirs.keys():
        more = listed([shown(name) for name in names if name in mine and name not in theirs])
        return f"knows {more}, {others} not"
    return _other_places(names, mine, theirs, others=others, own=own)


def _other_places(
    names: list[str], mine: Addresses, theirs: Addresses, *, others: str, own: Addresses
) -> str:
    first = names[0]
    if len(names) == 1:
        itself = f", and {shown(first)} itself listens on {shown(own.get(first, ''))}"
        return (
            f"looks for {shown(first)} at {shown(mine[first])},"
            f" {others} at {shown(theirs[first])}{itself if first in own else ''}"
        )
    if sorted(mine[name] for name in names) == sorted(theirs[name] for name in names):
        if len(names) == len("ab"):
            swapped = " and ".join(f"{shown(name)} at {shown(mine[name])}" for name in names)
            return f"has two addresses swapped: {swapped}, {others} the other way round"
        roles = {name.rpartition(":")[0] for name in names}
        what = f"the {_plural(roles.pop())}" if len(roles) == 1 else "the tasks"
        return f"has {what} in another order than {others}: {shown(first)} at {shown(mine[first])}"
    places = [f"{shown(name)} at {shown(mine[name])} ({shown(theirs[name])})" for name in names]
    return f"looks elsewhere than {others} (in brackets) for {listed(places)}"


def _with_real_name(addresses: Addresses, spec: SpecRead, known: Sequence[Addresses]) -> Addresses:
    """A task may call itself localhost on the port where the others look for it."""
    name = claim_of(spec)
    here = parse_address(addresses.get(name, ""))
    if isinstance(here, Complaint) or not _is_local(here.host):
        return addresses
    for others in known:
        there = parse_address(others.get(name, ""))
        if not isinstance(there, Complaint) and not _is_local(there.host):
            same = there.port == here.port
            return {**addresses, name: others[name]} if same else addresses
    return addresses


def _is_local(host: str) -> bool:
    return is_loopback(host) or is_unspecified(host)


def _sizes(addresses: Addresses) -> Counter[str]:
    return Counter(name.rpartition(":")[0] for name in addresses)


def _count(number: int, role: str) -> str:
    if number == 0:
        return f"no {shown(role)}"
    return f"{number} {shown(role) if number == 1 else _plural(role)}"


def _plural(role: str) -> str:
    return f"{role}s" if role in _COUNTED else shown(role)
