"""Hosts with all their tasks out of reach, by what is sent to them in vain and by looks."""

from holdfast.model.address import Address, is_loopback, parse_address
from holdfast.model.cluster import TaskId, chief_of
from holdfast.model.evidence import Evidence
from holdfast.model.facts import PathProbed, TaskStarted
from holdfast.model.link_cuts import Cut
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.standing import CUT, is_ready, lasts, standings, views

NO_WAY = Pattern(r"No route to host|Host is (?:down|unreachable)")


def addresses_of(evidence: Evidence) -> dict[TaskId, str]:
    """Where the server of each task listens, as far as it is known."""
    return {
        **{look.target: look.address for look in evidence.of(PathProbed) if look.target},
        **{fact.task: fact.address for fact in evidence.of(TaskStarted) if fact.task},
    }


def hosts_of(evidence: Evidence) -> dict[TaskId, str]:
    """The host in each task's address; nobody's whose address means a machine itself."""
    found: dict[TaskId, str] = {}
    for task, text in addresses_of(evidence).items():
        address = parse_address(text)
        if isinstance(address, Address) and not is_loopback(address.host):
            found[task] = address.host
    return found


def lost_hosts(evidence: Evidence, found: list[Cut]) -> dict[str, list[Cut]]:
    """Hosts with several tasks, of which every one is cut off from all who are elsewhere.

    Between two halves of a cluster, the one without the leader is the lost one.
    """
    hosts = hosts_of(evidence)
    lost: dict[str, list[Cut]] = {}
    for host in sorted(set(hosts.values()) - {hosts.get(chief_of(evidence.tasks), "")}):
        there = {task for task, place in hosts.items() if place == host}
        across = [
            cut
            for cut in found
            if len(cut.pair & there) == 1 and all(task in hosts for task in cut.pair)
        ]
        reached = {task for cut in across for task in cut.pair}
        elsewhere = {hosts[task] for task in reached - there}
        others = set(hosts.values()) - {host}
        all_cut = len(there) > 1 and there <= reached and elsewhere == others
        if all_cut and any(cut.sure for cut in across):
            lost[host] = across
    return lost


def silent_hosts(evidence: Evidence) -> dict[str, list[PathProbed]]:
    """Hosts of which every task was ready before and gets no packet now, from wherever we look."""
    found = standings(evidence)
    hosts = hosts_of(evidence)
    were_ready = {look.target for look in evidence.of(PathProbed) if is_ready(look)}
    reached = {hosts.get(view.task) for view in views(evidence) if view.look.outcome not in CUT}
    lost: dict[str, list[PathProbed]] = {}
    for host in sorted(set(hosts.values()) - reached if reached else ()):
        there = [standing for task, standing in found.items() if hosts.get(task) == host]
        looks = [one.look for one in there if one.seen_twice and lasts(evidence, one)]
        all_lost = looks and len(looks) == len(there)
        if all_lost and were_ready >= {look.target for look in looks} and _nothing_answers(looks):
            lost[host] = looks
    return lost


def _nothing_answers(looks: list[PathProbed]) -> bool:
    """Of several tasks, silence is enough; of a single one, the network itself must say so."""
    return len(looks) > 1 or (
        looks[0].outcome == Outcome.UNREACHABLE and NO_WAY.search(looks[0].says) is not None
    )
