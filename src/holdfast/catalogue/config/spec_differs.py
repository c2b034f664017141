"""The definitions of several tasks do not describe the same cluster.

## What you see
The start waits for ever, mostly in silence: each task looks for its peers where the others are
not. Or two tasks want the same port, or a collective waits for a worker that only some know of.

## Why it happens
The lists were made on each host by itself, in another order; one host has an old file; a port was
changed in one place; the job was made larger and one task still has the former size.

## How to confirm it by hand
`holdfast check FILE...` with the definitions of all tasks, or compare the `cluster` parts.

## What to do
Make the `cluster` part the same everywhere; only `task` differs. `holdfast run` does that.

## When this accusation would be wrong
When the files belong to different jobs. Who is the odd one out follows from the majority, and is
`high`, not `certain`, unless Holdfast handed the definitions out itself. A parameter server and
its workers only use their own port: what they think of the others is a warning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.definitions import (
    by_culprit,
    definitions,
    newest,
    owner,
    owners,
    proving,
)
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.spec_difference import (
    Addresses,
    View,
    addresses_of,
    claim_of,
    difference,
    differing,
    views,
)

SERVED = frozenset({"ps", "worker"})
OURS = "Holdfast's own definition"
SAME = "make `cluster` the same in all definitions: only `task` may differ"
RUN = "or do not set TF_CONFIG: `holdfast run` gives every task a correct one"


@dataclass(frozen=True, slots=True)
class Truth:
    """What the others have, and how a sentence calls them."""

    addresses: Addresses
    others: str
    confidence: Confidence
    specs: tuple[SpecRead, ...]
    right: str  # who has it right


def detect(evidence: Evidence) -> Iterator[Proof]:
    given = newest(spec for spec in evidence.of(SpecRead) if spec.given and spec.cluster)
    handed_out = [addresses_of(spec.cluster) for spec in given[-1:]]
    found = views(definitions(evidence), handed_out)
    if not found:
        return
    own = _own(found)
    if handed_out:
        truth = Truth(handed_out[0], OURS, Confidence.CERTAIN, tuple(given[-1:]), right=OURS)
        yield from _against_ours(found, truth, own)
    elif len(found) > 1 and len(found[0].specs) > len(found[1].specs):
        most = found[0]
        truth = Truth(
            most.addresses, "the others", Confidence.HIGH, most.specs, right=owner(most.specs[0])
        )
        for view in found[1:]:
            yield from _deviating(view, truth, own)
    elif len(found) > 1:
        yield _undecided(found, own)


def _own(found: Sequence[View]) -> dict[str, str]:
    """Where each task looks for itself."""
    return {
        name: view.addresses[name]
        for view in found
        for spec in view.specs
        if (name := claim_of(spec)) in view.addresses
    }


def _against_ours(found: Sequence[View], truth: Truth, own: Addresses) -> Iterator[Proof]:
    deviating = [view for view in found if differing(view.addresses, truth.addresses)]
    claims = {claim_of(spec) for view in found for spec in view.specs}
    if deviating and len(found) == 1 and len(claims) > 1 and claims >= truth.addresses.keys():
        view = deviating[0]
        yield Proof(
            facts=proving([*view.specs[:1], *truth.specs]),
            culprit=None,
            severity=Severity.WARNING,
            says=(
                "all tasks agree on another cluster than Holdfast gave out: each of them"
                f" {difference(view.addresses, truth.addresses, others=truth.others, own={})}"
            ),
            do=("remove what sets TF_CONFIG in the program, so that Holdfast knows the ports",),
        )
        return
    for view in deviating:
        yield from _deviating(view, truth, own)


def _deviating(view: View, truth: Truth, own: Addresses) -> Iterator[Proof]:
    what = difference(view.addresses, truth.addresses, others=truth.others, own=own)
    if _is_harmless(view, truth.addresses):
        yield _proof(view.specs, truth, what, severity=Severity.WARNING)
        return
    for culprit, specs in by_culprit(view.specs).items():
        yield _proof(specs, truth, what, culprit=culprit)


def _proof(
    specs: Sequence[SpecRead],
    truth: Truth,
    what: str,
    *,
    culprit: TaskId | None = None,
    severity: Severity = Severity.ERROR,
) -> Proof:
    return Proof(
        facts=proving([*specs[:1], *truth.specs]),
        culprit=culprit,
        confidence=truth.confidence,
        says=f"{owners(specs)} {what}",
        do=(f"correct `cluster` in {owners(specs)}: {truth.right} has it right", RUN),
        severity=severity,
    )


def _undecided(found: Sequence[View], own: Addresses) -> Proof:
    """As many say this as say that: both are named, and nobody is blamed."""
    leading = [view for view in found if any(spec.role == "chief" for spec in view.specs)]
    mine = next(view for view in found if view is not (leading or found)[0])
    theirs = (leading or found)[0]
    others = owners(theirs.specs)
    rest = [view for view in found if view is not theirs]
    harmless = all(_is_harmless(view, theirs.addresses) for view in rest)
    many = f"; there are {len(found)} different definitions" if len(rest) > 1 else ""
    what = difference(mine.addresses, theirs.addresses, others=others, own=own)
    return Proof(
        facts=proving([mine.specs[0], theirs.specs[0]]),
        culprit=None,
        says=f"{owners(mine.specs)} {what}{many}",
        do=(SAME, RUN),
        severity=Severity.WARNING if harmless else Severity.ERROR,
    )


def _is_harmless(view: View, truth: Addresses) -> bool:
    """Servers of a ParameterServerStrategy use their own port only, and the chief's word."""
    roles = {name.rpartition(":")[0] for name in truth}
    if not {"ps", "chief"} <= roles:
        return False
    wrong = differing(view.addresses, truth)
    return all(spec.role in SERVED and claim_of(spec) not in wrong for spec in view.specs)


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    yields_to=frozenset({"spec-two-chiefs"}),
)
