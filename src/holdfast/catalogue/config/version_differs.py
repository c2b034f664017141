"""Tasks of one cluster use different versions of TensorFlow or what it stands on.

## What you see
Often nothing: neighbouring versions of TensorFlow 2 train together. Otherwise a peer that
aborts over a message or an operation it does not know, a checkpoint or model file that loads
on some hosts only, or a program that behaves differently on one host.

## Why it happens
A host was updated and others were not, a container's tag moved, or a task starts another
interpreter than the rest.

## How to confirm it by hand
`python -c "import tensorflow; print(tensorflow.__version__)"` with each task's interpreter.

## What to do
Install the same versions everywhere: one container image named by its digest, or one
requirements file with exact versions.

## When this accusation would be wrong
When the difference is harmless, which is common: only different major versions of TensorFlow
are an error. Five mixes of TensorFlow 2.15 and 2.21 that were tried trained to the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.model.evidence import Evidence
from holdfast.model.facts import VersionsSeen
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import versions_told

# How many parts of a version must be equal, and how much it matters if they are not.
COMPARED: Mapping[str, tuple[int, Severity]] = {
    "tensorflow": (2, Severity.WARNING),
    "keras": (1, Severity.WARNING),
    "python": (1, Severity.WARNING),
    "protobuf": (1, Severity.INFO),
    "numpy": (1, Severity.INFO),
    "grpcio": (1, Severity.INFO),
    "cuda": (1, Severity.INFO),
}
SAID_MAX = 5
Signature = tuple[tuple[str, str], ...]


def detect(evidence: Evidence) -> Iterator[Proof]:
    groups: dict[Signature, list[VersionsSeen]] = {}
    for seen in _last(evidence):
        groups.setdefault(_signature(seen), []).append(seen)
    ordered = sorted(groups.values(), key=len, reverse=True)
    most = ordered[0][0] if ordered else None
    for group in ordered[1:]:
        if most is not None and (differ := _differences(most, group[0])):
            # While some have not loaded it yet, the first few may be the wrong ones.
            majority = 2 * len(ordered[0]) > max(len(evidence.tasks), sum(map(len, ordered)))
            yield _proof(ordered[0], group, differ, majority=majority)


def _last(evidence: Evidence) -> Iterable[VersionsSeen]:
    """The newest of each task or host; what a program says of itself counts more than a look."""
    last = {
        (seen.task, seen.host if seen.task is None else ""): seen
        for seen in evidence.of(VersionsSeen)
    }
    for told in versions_told(evidence):
        seen = last.get((told.task, ""), told)
        last[told.task, ""] = replace(seen, versions={**seen.versions, **told.versions})
    return last.values()


def _signature(seen: VersionsSeen) -> Signature:
    return tuple(
        (name, _key(seen.versions[name], parts))
        for name, (parts, _) in COMPARED.items()
        if name in seen.versions
    )


def _key(version: str, parts: int) -> str:
    return ".".join(version.split(".")[:parts])


def _differences(one: VersionsSeen, other: VersionsSeen) -> list[str]:
    """The packages that both have, in versions that do not fit; the most important first."""
    return [
        name
        for name, (parts, _) in COMPARED.items()
        if name in one.versions
        and name in other.versions
        and _key(one.versions[name], parts) != _key(other.versions[name], parts)
    ]


def _proof(
    most: Sequence[VersionsSeen],
    odd: Sequence[VersionsSeen],
    differ: Sequence[str],
    *,
    majority: bool,
) -> Proof:
    first, other = odd[0], most[0]
    grave = "tensorflow" in differ and _key(first.versions["tensorflow"], 1) != _key(
        other.versions["tensorflow"], 1
    )
    theirs = ", ".join(f"{name} {other.versions[name]}" for name in differ)
    ours = ", ".join(f"{name} {first.versions[name]}" for name in differ)
    return Proof(
        facts=(*odd[:SAID_MAX], other),
        culprit=first.task if majority and len(odd) == 1 else None,
        confidence=Confidence.HIGH,
        severity=Severity.ERROR if grave else COMPARED[differ[0]][1],
        says=f"{_who(odd)} with {ours}, and {_who(most)} with {theirs}",
        do=(
            f"install the same versions for all, such as {_pins(other, differ)}",
            f"see which interpreter it is: {first.interpreter or 'python'} -m pip list",
        ),
    )


def _who(group: Sequence[VersionsSeen]) -> str:
    names = [str(seen.task or seen.host) for seen in group[:SAID_MAX]]
    more = f" and {len(group) - SAID_MAX} more" if len(group) > SAID_MAX else ""
    verb = "runs" if len(group) == 1 else "run"
    return f"{', '.join(names)}{more} {verb}"


def _pins(seen: VersionsSeen, differ: Sequence[str]) -> str:
    packages = [
        f"{name}=={seen.versions[name]}" for name in differ if name not in {"python", "cuda"}
    ]
    return f"pip install {' '.join(packages)}" if packages else "one container image"


cause = Cause(
    family="version-mismatch",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)
