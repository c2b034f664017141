"""What is looked at before a run starts: little enough to take no time at all."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.model.facts import AddressNotHere, Fact
from holdfast.model.plan import Plan, PlannedTask
from holdfast.model.spec import read_spec
from holdfast.probes.environment import seen_environment
from holdfast.probes.host import measure_host
from holdfast.probes.net import own_port


def preflight(
    plan: Plan, environ: Mapping[str, str], where: dict[str, Any], *, fixed_ports: bool
) -> list[Fact]:
    """The definition, the memory of this host, what tasks inherit, and who holds their ports."""
    first = plan.tasks[0]
    text = plan.cluster.tf_config(first.task)
    names = [str(planned.task) for planned in plan.tasks]
    host = measure_host(where, names)
    facts: list[Fact] = [
        read_spec(text, source="the job", **{**where, "task": first.task}),
        # Ports that we chose ourselves are the best that this host has: no word about them.
        replace(host, outgoing_ports=host.outgoing_ports if fixed_ports else ()),
        seen_environment({**environ, **first.env}, where),
    ]
    if fixed_ports:
        for planned in plan.tasks:
            if planned.address:
                facts += _own_port(planned, where)
    return facts


def _own_port(planned: PlannedTask, where: dict[str, Any]) -> list[Fact]:
    """A task that will run elsewhere, as in a namespace of its own, has its port there."""
    found = list(own_port(planned.address, planned.task, where))
    elsewhere: list[Fact] = [fact for fact in found if isinstance(fact, AddressNotHere)]
    return elsewhere or found
