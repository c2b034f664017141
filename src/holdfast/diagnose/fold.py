"""One culprit, many victims: what others suffer from a cause becomes its echoes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from holdfast.diagnose.waits import WaitsFor
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import EnvironmentSeen, SpecRead, SpecUnreadable
from holdfast.model.findings import Echo, Finding

# Lines are read a little after they were written; exits are seen at once.
READING_LAG_S = 5.0
# What a task was started with is wrong before it does anything.
KNOWN_BEFORE = (SpecRead, SpecUnreadable, EnvironmentSeen)


def fold(proven: Iterable[Finding], waits: WaitsFor, evidence: Evidence) -> tuple[Finding, ...]:
    """The root findings, culprit first, each with the echoes it explains."""
    exact = _most_exact(list(proven))
    roots = _roots([finding for finding in exact if not finding.is_echo], waits)
    roots.sort(key=lambda root: _order(root, roots, waits, evidence))
    victims = [finding for finding in exact if finding not in roots]
    echoes = {index: list(_noticed(root)) for index, root in enumerate(roots)}
    orphans: list[Finding] = []
    for victim in sorted(victims, key=lambda finding: finding.proof.since_s):
        source, sufferer = _source(victim, roots, waits), _sufferer(victim)
        if source is None:
            orphans.append(victim)
        elif sufferer and sufferer != roots[source].proof.culprit:
            echoes[source].append(_echo(victim, sufferer))
    told = [replace(root, echoes=_one_each(echoes[i])) for i, root in enumerate(roots)]
    return (*told, *_gather(orphans, waits))


def _most_exact(proven: list[Finding]) -> list[Finding]:
    """Without those that another cause tells more exactly of the same task."""
    told = {(finding.name, task) for finding in proven for task in sufferers(finding)}
    return [
        finding
        for finding in proven
        if not (finding.cause.last_resort and _is_explained(finding, proven))
        and not any(
            (better, task) in told
            for better in finding.cause.yields_to
            for task in (_sufferer(finding), finding.proof.culprit)
        )
    ]


def _is_explained(resort: Finding, proven: list[Finding]) -> bool:
    """Whether more is known than that it ended: something was wrong before, or it says so."""
    until_s = resort.proof.since_s + READING_LAG_S
    return any(
        finding.proof.seen_at == resort.proof.culprit
        or (not finding.is_echo and finding.proof.since_s <= until_s)
        for finding in proven
        if not finding.cause.last_resort
    )


def _roots(candidates: list[Finding], waits: WaitsFor) -> list[Finding]:
    return [
        finding
        for finding in candidates
        if not any(
            waits.is_victim_of(finding.proof.culprit, other.proof.culprit)
            and other.proof.since_s <= finding.proof.since_s + READING_LAG_S
            for other in candidates
        )
    ]


def _order(
    root: Finding, roots: Sequence[Finding], waits: WaitsFor, evidence: Evidence
) -> tuple[bool, float, str]:
    """Whom others wait for comes first; then who failed first, or what was wrong before."""
    awaited = any(waits.reaches(waiter, root.proof.culprit) for waiter in evidence.tasks)
    exited = evidence.exit_of(root.proof.culprit)
    before = any(isinstance(fact, KNOWN_BEFORE) for fact in root.proof.facts)
    at_s = exited.at_s if exited and not before else root.proof.since_s
    return (not awaited, at_s, root.name)


def _source(victim: Finding, roots: Sequence[Finding], waits: WaitsFor) -> int | None:
    """Which root explains this victim: the one it waits for, else the first failure of all."""
    sufferer = _sufferer(victim)
    for index, root in enumerate(roots):
        if sufferer == root.proof.culprit or waits.reaches(sufferer, root.proof.culprit):
            return index
    for index, root in enumerate(roots):
        if root.proof.since_s <= victim.proof.since_s + READING_LAG_S:
            return index
    return None


def _sufferer(finding: Finding) -> TaskId | None:
    return finding.proof.seen_at or finding.proof.culprit


def sufferers(finding: Finding) -> set[TaskId | None]:
    """Whom a finding is about: without a culprit, all those whose facts prove it."""
    sufferer = _sufferer(finding)
    return {sufferer} if sufferer else {None, *(fact.task for fact in finding.proof.facts)}


def _noticed(root: Finding) -> Iterator[Echo]:
    """Who noticed another's fault suffers from it."""
    if root.proof.seen_at is not None:
        yield _echo(root, root.proof.seen_at)


def _echo(victim: Finding, task: TaskId) -> Echo:
    proof = victim.proof
    return Echo(
        task=task, cause=victim.name, says=proof.says, since_s=proof.since_s, facts=proof.facts
    )


def _one_each(echoes: Iterable[Echo]) -> tuple[Echo, ...]:
    """Each task echoes once, with its first words about it."""
    first: dict[TaskId, Echo] = {}
    for echo in echoes:
        first.setdefault(echo.task, echo)
    return tuple(first.values())


def _gather(orphans: list[Finding], waits: WaitsFor) -> tuple[Finding, ...]:
    """Victims without a root: one finding for each peer that waits for none of the others.

    Who names nobody, or only another victim, suffers from the first such peer.
    """
    blamed = [orphan for orphan in orphans if orphan.proof.culprit is not None]
    sinks = [
        orphan
        for orphan in blamed
        if not any(
            waits.is_victim_of(orphan.proof.culprit, other.proof.culprit) for other in blamed
        )
    ]
    exact = {name for orphan in orphans for name in orphan.cause.yields_to}
    by_exactness = sorted(sinks, key=lambda sink: sink.name not in exact)
    heads = list({sink.proof.culprit: sink for sink in reversed(by_exactness)}.values())[::-1]
    heads = heads or orphans[:1]
    heard: dict[int, list[Echo]] = {index: [] for index in range(len(heads))}
    for orphan in orphans:
        sufferer = _sufferer(orphan)
        index = next(
            (i for i, head in enumerate(heads) if waits.reaches(sufferer, head.proof.culprit)), 0
        )
        if sufferer and sufferer != heads[index].proof.culprit:
            heard[index].append(_echo(orphan, sufferer))
    gathered = [
        replace(head, echoes=_one_each(heard[i]))
        for i, head in enumerate(heads)
        if heard[i] or i == 0
    ]
    return tuple(
        sorted(gathered, key=lambda finding: (-len(finding.echoes), finding.proof.since_s))
    )
