"""What was looked at, in the categories of `holdfast check`: each well, ill or not looked at."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model import facts
from holdfast.model.address import Address, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis, Finding, Severity
from holdfast.model.path import Outcome
from holdfast.model.spec import members
from holdfast.model.words import bytes_text, seconds_text
from holdfast.views.fact_text import fact_text
from holdfast.views.task_names import task_names

PORTS_SHOWN_MAX: Final = 8
OK, WARNING, ERROR, UNKNOWN = "ok", "warning", "error", "unknown"

# Where a cause is shown. One that is missing here goes by its folder in the catalogue.
CATEGORY_OF_CAUSE: Final[dict[str, str]] = {
    "address-not-here": "Addresses",
    "clock-skew": "Clock",
    "host-too-small": "Memory",
    "low-limits": "Limits",
    "name-not-resolved": "Addresses",
    "port-conflict": "Ports",
    "proxy-hijack": "Proxy",
    "spec-bad-address": "Addresses",
    "spec-differs": "Agreement",
    "spec-duplicate-address": "Addresses",
    "spec-ephemeral-port": "Ports",
    "spec-evaluator-listed": "Roles",
    "spec-loopback": "Addresses",
    "spec-task-twice": "Agreement",
    "spec-two-chiefs": "Roles",
    "spec-without-cluster": "Definition",
    "spec-wrong-task": "Roles",
    "version-differs": "Versions",
}
CATEGORY_OF_FOLDER: Final = {
    "config": "Definition",
    "host": "Host",
    "storage": "Disk",
    "network": "Paths",
    "process": "Paths",
}
# By a word in the name that a blind probe gives itself.
CATEGORY_OF_PROBE: Final = (
    (" directory ", "Disk"),
    ("address of ", "Ports"),
    ("clock", "Clock"),
    ("versions", "Versions"),
    ("path", "Paths"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One line of the check. `findings` are places in the diagnosis' own list."""

    name: str
    state: str
    says: str
    findings: tuple[int, ...] = ()
    seen: tuple[facts.Fact, ...] = ()


def categories(
    evidence: Evidence,
    diagnosis: Diagnosis,
    *,
    skipped: Mapping[str, str],
    settled: Mapping[str, str] | None = None,
) -> tuple[Category, ...]:
    """Every category, in the order in which trouble shows.

    `skipped` says why one was left out, `settled` why one needs no look to be well.
    """
    found: dict[str, list[int]] = {}
    for number, finding in enumerate(diagnosis.findings):
        found.setdefault(category_of(finding), []).append(number)
    defined = any(evidence.of(facts.SpecRead))
    nothing = {} if defined else dict.fromkeys(("Agreement", "Ports", "Paths"), _NO_SPEC)
    rows = []
    for name, look in _LOOKS.items():
        behind = [*look.seen(evidence), *_blind(evidence, name)]
        says = (settled or {}).get(name, "")
        if not says and look.seen(evidence):
            says = look.says(evidence)
        numbers = tuple(found.get(name, ()))
        state = _worst(diagnosis.findings[number] for number in numbers)
        if not says:
            says = _why_not(behind) or skipped.get(name) or nothing.get(name, look.otherwise)
            state = state or UNKNOWN
        rows.append(
            Category(name=name, state=state or OK, says=says, findings=numbers, seen=tuple(behind))
        )
    return tuple(rows)


def category_of(finding: Finding) -> str:
    folder = finding.cause.detect.__module__.split(".")[-2:][0]
    return CATEGORY_OF_CAUSE.get(finding.name, CATEGORY_OF_FOLDER.get(folder, "Definition"))


def _worst(findings: Iterable[Finding]) -> str:
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return ERROR
    return WARNING if Severity.WARNING in severities else ""


def _blind(evidence: Evidence, name: str) -> Iterable[facts.ProbeBlind]:
    words = [word for word, category in CATEGORY_OF_PROBE if category == name]
    seen = evidence.of(facts.ProbeBlind)
    return (fact for fact in seen if any(word in fact.probe for word in words))


def _why_not(behind: Sequence[facts.Fact]) -> str:
    return next((fact.why for fact in behind if isinstance(fact, facts.ProbeBlind)), "")


def _definition(evidence: Evidence) -> str:
    specs = list(evidence.of(facts.SpecRead))
    if not specs:
        return fact_text(next(evidence.of(facts.SpecUnreadable)))
    everybody = sorted({task for spec in specs for task in members(spec)}, key=_order)
    where = f", in {len(specs)} definitions" if len(specs) > 1 else ""
    return f"{_count(everybody, 'task')}: {task_names(list(map(str, everybody)))}{where}"


def _order(task: TaskId) -> tuple[str, int]:
    return task.role, task.index


def _roles(evidence: Evidence) -> str:
    everybody = {task for spec in evidence.of(facts.SpecRead) for task in members(spec)}
    counted = Counter(task.role for task in everybody)
    return ", ".join(f"{count} {role}" for role, count in sorted(counted.items()))


def _addresses(evidence: Evidence) -> str:
    texts = _texts(evidence)
    hosts = _hosts(texts)
    return f"{_count(texts, 'address', 'addresses')} on {_count(hosts, 'host')}"


def _texts(evidence: Evidence) -> set[str]:
    return {
        address
        for spec in evidence.of(facts.SpecRead)
        for listed in spec.cluster.values()
        for address in listed.values()
    }


def _hosts(texts: Iterable[str]) -> set[str]:
    parsed = map(parse_address, texts)
    return {address.host.lower() for address in parsed if isinstance(address, Address)}


def _agreement(evidence: Evidence) -> str:
    specs = list(evidence.of(facts.SpecRead))
    different = {repr(sorted(members(spec).items())) for spec in specs}
    if len(different) == 1:
        return f"{len(specs)} definitions name the same tasks at the same addresses"
    return f"{len(specs)} definitions that say {len(different)} different things"


def _compared(evidence: Evidence) -> list[facts.SpecRead]:
    specs = list(evidence.of(facts.SpecRead))
    return specs if len(specs) > 1 else []


def _host(evidence: Evidence) -> str:
    hosts = list(evidence.of(facts.HostMeasured))
    own = sorted({TaskId.parse(name) for fact in hosts for name in fact.tasks}, key=_order)
    held = f"; holds {task_names(list(map(str, own)))}" if own else ""
    cpus = sum(fact.cpus for fact in hosts)
    if len(hosts) == 1:
        return f"{hosts[0].host}, {cpus} CPU{'s' if cpus > 1 else ''}{held}"
    names = ", ".join(sorted({fact.host for fact in hosts}))
    return f"{len(hosts)} hosts: {names}{held}"


def _with_tasks(evidence: Evidence) -> list[facts.Fact]:
    """Free ports leave no fact: they were looked at where tasks were known to belong."""
    homes = [fact for fact in evidence.of(facts.HostMeasured) if fact.tasks]
    return [*evidence.of(facts.PortHeld), *evidence.of(facts.AddressNotHere), *homes]


def _ports(evidence: Evidence) -> str:
    held = sorted({fact.port for fact in evidence.of(facts.PortHeld) if fact.holder is None})
    looked = {name for fact in evidence.of(facts.HostMeasured) for name in fact.tasks}
    if held:
        more = f" and {len(held) - PORTS_SHOWN_MAX} more" if len(held) > PORTS_SHOWN_MAX else ""
        return f"somebody listens on {', '.join(map(str, held[:PORTS_SHOWN_MAX]))}{more}"
    return f"nobody else listens on those of {task_names(sorted(looked))}"


def _memory(evidence: Evidence) -> str:
    hosts = list(evidence.of(facts.HostMeasured))
    least = min(hosts, key=lambda fact: fact.memory_free_bytes)
    where = f" on {least.host}, the fullest of {len(hosts)} hosts" if len(hosts) > 1 else ""
    free, total = bytes_text(least.memory_free_bytes), bytes_text(least.memory_bytes)
    limit = least.cgroup_limit_bytes
    allowed = "" if limit is None else f", {bytes_text(limit)} allowed"
    return f"{free} of {total} free{allowed}{where}"


def _disk(evidence: Evidence) -> str:
    rooms = list(evidence.of(facts.DiskMeasured))
    folders = list(evidence.of(facts.FolderMeasured))
    paths = sorted({fact.path for fact in folders} or {fact.path for fact in rooms})
    if not rooms:
        return ", ".join(paths)
    least = min(rooms, key=lambda fact: fact.free_bytes)
    free = f"{bytes_text(least.free_bytes)} free in {least.path}"
    return free if len(paths) == 1 else f"{free}, the fullest of {len(paths)} directories"


def _limits(evidence: Evidence) -> str:
    return ", ".join(dict.fromkeys(fact_text(fact) for fact in evidence.of(facts.LimitSeen))) or (
        "no limit that matters"
    )


def _clock(evidence: Evidence) -> str:
    clocks = list(evidence.of(facts.ClockMeasured))
    compared = [fact for fact in clocks if fact.against]
    if not compared:
        return fact_text(clocks[0])
    worst = max(compared, key=lambda fact: abs(fact.offset_s))
    return f"at most {seconds_text(abs(worst.offset_s))} away from {worst.against}"


def _proxy(evidence: Evidence) -> str:
    names = {name for fact in evidence.of(facts.EnvironmentSeen) for name in fact.variables}
    proxies = sorted(name for name in names if name.lower().endswith("_proxy"))
    return f"{', '.join(proxies)} set" if proxies else "no proxy is set"


def _versions(evidence: Evidence) -> str:
    seen: dict[str, list[str]] = {}
    for fact in evidence.of(facts.VersionsSeen):
        for name, version in fact.versions.items():
            known = seen.setdefault(name, [])
            if version not in known:
                known.append(version)
    told = [f"{name} {' and '.join(found)}" for name, found in seen.items()]
    return ", ".join(told if "tensorflow" in seen else [*told, "no tensorflow"])


_SHORT: Final[dict[str, str]] = {
    Outcome.ANSWERED: "answered",
    Outcome.STALLED: "connected without a word",
    Outcome.REFUSED: "reachable, not started yet",
    Outcome.FILTERED: "silent",
    Outcome.UNREACHABLE: "unreachable",
    Outcome.RESET: "thrown out",
    Outcome.NOT_GRPC: "not gRPC",
    Outcome.NOT_TENSORFLOW: "not TensorFlow",
    Outcome.UNRESOLVED: "of an unknown name",
    Outcome.BAD_ADDRESS: "not an address",
    Outcome.BLIND: "not looked at",
}


def _paths(evidence: Evidence) -> str:
    looks = list(evidence.of(facts.PathProbed))
    counted = Counter(look.outcome for look in looks)
    told = [f"{counted[name]} {text}" for name, text in _SHORT.items() if counted[name]]
    origins = {look.host for look in looks}
    seen_from = f", seen from {len(origins)} hosts" if len(origins) > 1 else ""
    measured = [fact.p50_s for fact in evidence.of(facts.PathMeasured) if fact.lost < fact.tries]
    speed = f"; {seconds_text(max(measured))} to the slowest" if measured else ""
    return ", ".join(told) + seen_from + speed


def _count(things: Iterable[object], one: str, many: str = "") -> str:
    number = len(list(things))
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


@dataclass(frozen=True, slots=True)
class _Look:
    """What stands behind a category, what it says of it, and what when there is nothing."""

    seen: Callable[[Evidence], Sequence[facts.Fact]]
    says: Callable[[Evidence], str]
    otherwise: str


def _of(*kinds: type[facts.Fact]) -> Callable[[Evidence], list[facts.Fact]]:
    return lambda evidence: [fact for kind in kinds for fact in evidence.of(kind)]


_NO_SPEC: Final = "there is no definition that can be read"
_LOOKS: Final[dict[str, _Look]] = {
    "Definition": _Look(_of(facts.SpecRead, facts.SpecUnreadable), _definition, _NO_SPEC),
    "Roles": _Look(_of(facts.SpecRead), _roles, _NO_SPEC),
    "Addresses": _Look(_of(facts.SpecRead), _addresses, _NO_SPEC),
    "Agreement": _Look(
        _compared, _agreement, "only one definition is known: name those of other tasks, too"
    ),
    "Host": _Look(_of(facts.HostMeasured), _host, "not looked at"),
    "Ports": _Look(_with_tasks, _ports, "no task of the definition belongs on this host"),
    "Memory": _Look(_of(facts.HostMeasured), _memory, "not looked at"),
    "Disk": _Look(
        _of(facts.FolderMeasured, facts.DiskMeasured),
        _disk,
        "no directory was named: --log-dir, --checkpoint-dir",
    ),
    "Limits": _Look(_of(facts.LimitSeen), _limits, "no limit that matters here"),
    "Clock": _Look(_of(facts.ClockMeasured), _clock, "nothing here says what time it is"),
    "Proxy": _Look(_of(facts.EnvironmentSeen), _proxy, "not looked at"),
    "Versions": _Look(_of(facts.VersionsSeen), _versions, "no interpreter was looked at"),
    "Paths": _Look(_of(facts.PathProbed, facts.PathMeasured), _paths, "no address to look at"),
}
