"""A proxy variable sends what a task says to its peers to a proxy instead.

## What you see
Tasks wait for each other for ever, or say `Socket closed`, `failed to connect to all
addresses` or `HTTP proxy returned response code 403`, while ping, curl and ssh between the
hosts work.

## Why it happens
gRPC obeys the lower-case variables grpc_proxy, https_proxy and http_proxy, in this order, even
for 127.0.0.1. It ignores the upper-case ones and all_proxy. Profiles of clusters often set
them for pip and wget.

## How to confirm it by hand
`env | grep -i proxy` where the task starts; `tr '\\0' '\\n' < /proc/PID/environ | grep -i proxy`
for one that runs.

## What to do
Name the peers in no_proxy before the start, or unset the variables. gRPC compares the ends of
names: `.cluster.local` covers all below it, and `*` covers nothing. Blocks such as 10.0.0.0/8
cover addresses, not names, and only since TensorFlow 2.16 or so: write the hosts themselves.

## When this accusation would be wrong
When the program itself deletes the variable, or the proxy really leads to the peers. A task
that has a direct connection to a peer, or ended well, refutes it.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from holdfast.model.address import Address, parse_address
from holdfast.model.evidence import Evidence
from holdfast.model.facts import EnvironmentSeen, SocketsSeen, SpecRead, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")  # gRPC takes the first that is set
EXCEPTIONS = ("no_grpc_proxy", "no_proxy")  # the same
SCHEME = "http://"  # with any other, gRPC complains and uses no proxy
HOSTS_SAID_MAX = 5
VALUE_SAID_MAX = 100


def detect(evidence: Evidence) -> Iterator[Proof]:
    last = {(seen.host, seen.task): seen for seen in evidence.of(EnvironmentSeen)}
    groups: dict[tuple[str, str, str], list[tuple[EnvironmentSeen, list[str]]]] = {}
    for seen in last.values():
        name = _proxy(seen.variables)
        hosts = _sent_away(evidence, seen) if name else []
        if hosts:
            key = (seen.host, name, seen.variables[name])
            groups.setdefault(key, []).append((seen, hosts))
    for (_, name, _), group in groups.items():
        yield _proof(name, group)


def _proxy(variables: Mapping[str, str]) -> str:
    """The variable that gRPC obeys; one that is set but empty means no proxy."""
    name = next((name for name in PROXIES if name in variables), "")
    value = variables[name].lower() if name else ""
    return name if len(value) > len(SCHEME) and value.startswith(SCHEME) else ""


def _sent_away(evidence: Evidence, seen: EnvironmentSeen) -> list[str]:
    """The hosts of peers whose calls go to the proxy; none when one is known to be reached."""
    peers = _peers(evidence, seen)
    if _is_refuted(evidence, seen, peers):
        return []
    exceptions = next((name for name in EXCEPTIONS if name in seen.variables), "")
    covered = seen.variables[exceptions] if exceptions else ""
    hosts = dict.fromkeys(peer.host for peer in peers)
    return [host for host in hosts if not _is_covered(host, covered)]


def _is_refuted(evidence: Evidence, seen: EnvironmentSeen, peers: Sequence[Address]) -> bool:
    """Whether a task that was started with these variables reached a peer, or did its work."""
    ports = tuple(f":{peer.port}" for peer in peers)
    reached = any(
        end.endswith(ports)
        for sockets in evidence.of(SocketsSeen, seen.task)
        if sockets.host == seen.host
        for end in sockets.connected
    )
    exits = (fact for fact in evidence.of(TaskExited, seen.task) if fact.host == seen.host)
    return reached or any(fact.exit_code == 0 for fact in exits)


def _peers(evidence: Evidence, seen: EnvironmentSeen) -> list[Address]:
    """The other tasks of the definition: the task's own one where it is known."""
    specs = list(evidence.of(SpecRead))
    own = [spec for spec in specs if seen.task and spec.task == seen.task]
    spec = next(reversed(own or specs), None)
    if spec is None:
        return []
    me = str(seen.task) if seen.task else f"{spec.role}:{spec.index}"
    if me.startswith("evaluator:"):
        return []  # it talks to nobody
    members = {
        f"{role}:{index}": address
        for role, addresses in spec.cluster.items()
        for index, address in addresses.items()
        if role != "evaluator"
    }
    places = [parse_address(text) for name, text in members.items() if name != me]
    # Who is not the only one has peers; a definition for nobody is for all of them.
    return [place for place in places if isinstance(place, Address)] if len(members) > 1 else []


def _is_covered(host: str, exceptions: str) -> bool:
    """gRPC's own rule: the end of the name, or a block of addresses."""
    for entry in exceptions.split(","):
        bare = entry.strip()
        if entry and (host.lower().endswith(bare.lower()) or _is_in_block(host, bare)):
            return True
    return False


def _is_in_block(host: str, entry: str) -> bool:
    if "/" not in entry:
        return False
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False


def _proof(name: str, group: Sequence[tuple[EnvironmentSeen, list[str]]]) -> Proof:
    seen, hosts = group[0]
    only = seen.task if len(group) == 1 else None
    if len(group) == 1:
        who = f"{only or f'every task started on {seen.host}'} says"
    else:
        names = ", ".join(str(one.task or one.host) for one, _ in group[:HOSTS_SAID_MAX])
        left = len(group) - HOSTS_SAID_MAX
        who = f"{names} and {left} more say" if left > 0 else f"{names} say"
    exceptions = next((word for word in EXCEPTIONS if word in seen.variables), "no_proxy")
    listed = ",".join([*hosts[:HOSTS_SAID_MAX], *(["…"] if len(hosts) > HOSTS_SAID_MAX else [])])
    before = f'"${exceptions}",' if seen.variables.get(exceptions) else ""
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    return Proof(
        facts=tuple(one for one, _ in group[:HOSTS_SAID_MAX]),
        culprit=only,
        confidence=Confidence.HIGH,
        says=(
            f"{name}={_shown(seen.variables[name])} sends what {who} to {hosts[0]}{more}"
            f" to that proxy: gRPC obeys it, and {exceptions} does not name them"
        ),
        do=(
            f"export {exceptions}={before}{shlex.quote(listed)}",
            f"or start the tasks without it: unset {' '.join(PROXIES)}",
        ),
    )


def _shown(value: str) -> str:
    return value.split(maxsplit=1)[0][:VALUE_SAID_MAX]


WORDS = (
    Words(
        Pattern(r"Connecting to server (?:\S+) via HTTP proxy (?P<culprit>\S+)"),
        says="gRPC goes through the proxy {culprit} to reach a peer: {line}",
    ),
    Words(
        Pattern(
            r"HTTP proxy returned response code|Tunnel connection failed: \d+|ProxyError[(:]"
            r"|Cannot connect to proxy|407 Proxy Authentication Required"
            r"|Proxy CONNECT aborted|Received HTTP code \d+ from proxy after CONNECT"
        ),
        blames_nobody=True,
        says="a proxy stands between the tasks: {line}",
    ),
    # What gRPC says when somebody answers in HTTP/1: most often a proxy.
    Words(
        Pattern(
            r"Trying to connect an http1\.x server|Received http2 header with status: (?:40|50)\d"
            r"|Endpoint read failed|Expected SETTINGS frame as the first frame"
            r"|'CONNECT \S+:\d+ HTTP/1\.[01]\b|scheme not supported in proxy URI"
        ),
        Weight.SIGN,
        unless=Pattern(r"remote target /job:|Master init: "),
        blames_nobody=True,
        says="what answers is no gRPC server but most likely a proxy: {line}",
    ),
)

cause = Cause(
    family="proxy-interference",
    detect=detect,
    remedy=AskHuman(),
    words=WORDS,
    where=(
        Pattern(
            r"(?i:https?_proxy|grpc_proxy|all_proxy)\s*[=:]\s*['\"]?(?P<culprit>https?://[^\s'\"]+)"
        ),
        Pattern(r"^(?P<culprit>https?://[\w.-]*proxy[\w.-]*:\d+)/?$"),
    ),
    do=(
        "env | grep -i proxy on the host of the task",
        "unset http_proxy https_proxy grpc_proxy before the start, or list the hosts in no_proxy",
    ),
)
