"""Whether this environment makes us one task of a cluster that somebody else has started."""

from collections.abc import Mapping

from holdfast.intake.target import VARIABLE
from holdfast.model.errors import UsageError
from holdfast.model.facts import SpecRead
from holdfast.model.spec import claimed, members, read_spec
from holdfast.model.words import listed


def refuse_inside_a_cluster(environ: Mapping[str, str]) -> None:
    """A new cluster in each of its tasks would be many lonely jobs, all of which succeed."""
    spec = read_spec(environ.get(VARIABLE), source=VARIABLE)
    if not isinstance(spec, SpecRead) or len(members(spec)) < 2:  # noqa: PLR2004 - others are in it
        return
    found = members(spec)
    task = claimed(spec)
    address = f" at {found[task]}" if task in found else ""
    who = f"{task}{address}" if task else "one task"
    raise UsageError(
        f"this environment has a {VARIABLE}: here we are {who} of a cluster of {len(found)} tasks"
        f" ({listed(found)}), and holdfast run would start another cluster, on this host alone",
        do="to train as this task of that cluster, start the program itself, and ask about it with"
        f" `holdfast attach`; for a cluster of its own here: env -u {VARIABLE} holdfast run …",
    )
