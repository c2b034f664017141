"""Tasks of one cluster use versions of TensorFlow, or of what it stands on, that do not fit.

## What you see
Often nothing: neighbouring versions of TensorFlow 2 train together. Otherwise a peer that
aborts over a message or an operation it does not know, a checkpoint or model file that loads
on some hosts only, or a program that behaves differently on one host.

## Why it happens
A host was updated and others were not, a container's tag moved, or a task starts another
interpreter than the rest. What is compared, and what is not, goes by the packages' own rules:

TensorFlow calls two versions in one cluster unsupported: its tasks talk in a protocol of which
nothing is promised between versions. Another major version (1 and 2) is an error, another minor
(2.15 and 2.21) a warning. Patches (2.21.0 and 2.21.1) only mend bugs, and are not told.

Keras 2 and 3 name variables differently and write other files: a warning. Within a major
version nothing is told.

Python promises nothing for bytecode between minor versions (3.11 and 3.12), so functions that
are pickled by value or saved in a model (`Lambda` layers) load only where they were made:
worth knowing. Graphs and tensors do not care. Patches (3.11.7 and 3.11.9) are not told.

protobuf's messages are the same on the wire in all versions. What must fit is the code that was
generated for it, inside of one process: that of a major version runs with this one and the next.
So a neighbouring major is not told; where two tasks are two or more apart, one of them is
probably outside of what its TensorFlow was made for: worth knowing.

gRPC never breaks its wire, not even with a major version, and TensorFlow carries a gRPC of its
own: only another major version of the Python package `grpcio`, whose calls may differ, is worth
knowing. NumPy and CUDA keep what they promise within a major version, and are compared by it.

## How to confirm it by hand
`python -c "import tensorflow; print(tensorflow.__version__)"` with each task's interpreter.

## What to do
Install the same versions everywhere: one container image named by its digest, or one
requirements file with exact versions.

## When this accusation would be wrong
When the difference is harmless, which is common: only different major versions of TensorFlow
are an error. Five mixes of TensorFlow 2.15 and 2.21 that were tried trained to the end. A
nightly build counts as the version that it will become.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from holdfast.model.evidence import Evidence
from holdfast.model.facts import VersionsSeen
from holdfast.model.findings import GRAVITY, Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import versions_told
from holdfast.model.version_rules import RULES, compared_part, mismatch

SAID_MAX = 5
Parts = tuple[tuple[str, tuple[int, ...]], ...]


def detect(evidence: Evidence) -> Iterator[Proof]:
    kinds: dict[Parts, list[VersionsSeen]] = {}
    for seen in _last(evidence):
        kinds.setdefault(_parts(seen, RULES), []).append(seen)
    if not kinds:
        return
    most = _fitting(max(kinds.values(), key=len)[0], kinds.values())
    odd: dict[Parts, list[VersionsSeen]] = {}
    for seen in (seen for group in kinds.values() for seen in group):
        if differ := _differences(most[0], seen):
            odd.setdefault(_parts(seen, differ), []).append(seen)
    # While some have not loaded it yet, the first few may be the wrong ones.
    known = len(most) + sum(map(len, odd.values()))
    majority = 2 * len(most) > max(len(evidence.tasks), known)
    for group in sorted(odd.values(), key=len, reverse=True):
        # Who is between the two fits both, and does not tell who of them is wrong.
        alone = len(_fitting(group[0], kinds.values())) < len(most)
        yield _proof(most, group, is_odd=majority and alone and len(group) == 1)


def _fitting(one: VersionsSeen, kinds: Iterable[Sequence[VersionsSeen]]) -> list[VersionsSeen]:
    """Itself, and all that may be in one cluster with it."""
    others = [seen for group in kinds if not _differences(one, group[0]) for seen in group]
    return [one, *(seen for seen in others if seen is not one)]


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


def _parts(seen: VersionsSeen, names: Iterable[str]) -> Parts:
    return tuple(
        (name, compared_part(name, seen.versions[name])) for name in names if name in seen.versions
    )


def _differences(one: VersionsSeen, other: VersionsSeen) -> dict[str, Severity]:
    """The packages that both have, in versions that do not fit; the most important first."""
    both = [name for name in RULES if name in one.versions and name in other.versions]
    found = {name: mismatch(name, one.versions[name], other.versions[name]) for name in both}
    return {name: severity for name, severity in found.items() if severity}


def _proof(most: Sequence[VersionsSeen], odd: Sequence[VersionsSeen], *, is_odd: bool) -> Proof:
    first, other = odd[0], most[0]
    differ = _differences(other, first)
    theirs = ", ".join(_versions(most, name) for name in differ)
    ours = ", ".join(_versions(odd, name) for name in differ)
    return Proof(
        facts=(*odd[:SAID_MAX], other),
        culprit=first.task if is_odd else None,
        confidence=Confidence.HIGH,
        severity=max(differ.values(), key=GRAVITY.index),
        says=f"{_who(odd)} with {ours}, and {_who(most)} with {theirs}",
        do=(
            f"install the same versions for all, such as {_pins(other, differ)}",
            f"see which interpreter it is: {first.interpreter or 'python'} -m pip list",
        ),
    )


def _versions(group: Sequence[VersionsSeen], name: str) -> str:
    """Those that a group of tasks has, which fit each other."""
    found = dict.fromkeys(seen.versions[name] for seen in group if name in seen.versions)
    return f"{name} {' or '.join(list(found)[:SAID_MAX])}"


def _who(group: Sequence[VersionsSeen]) -> str:
    names = [str(seen.task or seen.host) for seen in group[:SAID_MAX]]
    more = f" and {len(group) - SAID_MAX} more" if len(group) > SAID_MAX else ""
    verb = "runs" if len(group) == 1 else "run"
    return f"{', '.join(names)}{more} {verb}"


def _pins(seen: VersionsSeen, differ: Iterable[str]) -> str:
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
