"""`holdfast explain`: the causes we know, and the page of each."""

import difflib
import shutil
import sys
from collections.abc import Iterator

import click

from holdfast.cli import width_of
from holdfast.diagnose import catalogue, page
from holdfast.model.deadlines import PAGE, Network, advice
from holdfast.model.errors import UsageError
from holdfast.model.families import FAMILIES
from holdfast.model.noise import said_to_be_harmless
from holdfast.views.sanitise import clip
from holdfast.views.wrap import hanging, wrapped

NOISE = "noise"  # no cause: what sounds bad and means nothing
DEADLINES = "deadlines"  # no cause either: what time-outs there are
BESIDE = {"benign-noise": NOISE, "deadline-exceeded": DEADLINES}  # what a family has beside causes
NAME_CELLS = 26
BESIDE_CELLS_MIN = 30  # with less room than this, a sentence goes below the name
NEAR_MAX = 3


@click.command()
@click.argument("cause", required=False)
@click.option(
    "--round-trip-s",
    type=click.FloatRange(0, 60),
    help="With `deadlines`: seconds to the farthest task and back, as ping tells; adds advice.",
)
@click.option(
    "--lost-share",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="With --round-trip-s: what share of the packets is lost.",
)
def command(cause: str | None, round_trip_s: float | None, lost_share: float) -> None:
    """Explain CAUSE: what you see, why it happens, what to do. Without CAUSE, list them all.

    CAUSE may also be a family: it lists what belongs to it. `noise` lists the lines that sound
    bad and mean nothing. `deadlines` tells the time-outs of TensorFlow, gRPC and TCP.
    """
    name = (cause or "").lower().replace("_", "-").replace(" ", "-")
    if name == DEADLINES:
        _show(f"# {DEADLINES}\n\n{PAGE}{_advice(round_trip_s, lost_share)}")
        return
    if round_trip_s is not None or lost_share:
        raise UsageError(
            "only `deadlines` depend on the network",
            do=f"holdfast explain {DEADLINES} --round-trip-s 0.05",
        )
    if cause is None:
        click.echo("\n".join(_listing()))
    elif name == NOISE:
        _show(f"# {NOISE}\n\n{said_to_be_harmless()}")
    elif name in catalogue():
        family = catalogue()[name].family
        _show(f"# {name}\n\n*family:* {family}\n\n{page(name).strip()}{_see_also(name, family)}")
    elif name in FAMILIES:
        click.echo("\n".join(_family(name)))
    else:
        raise UsageError(f"there is no cause named {cause!r}", do=_hint(name))


def _advice(round_trip_s: float | None, lost_share: float) -> str:
    if round_trip_s is None:
        if lost_share:
            raise UsageError("--lost-share needs --round-trip-s", do="add --round-trip-s 0.05")
        return (
            "\n## For your network\n`holdfast explain deadlines --round-trip-s 0.05` tells what"
            " a round trip of 50 ms needs."
        )
    told = (
        f"- {'**the default is wrong**: ' if one.default_is_wrong else ''}{one.says}"
        for one in advice(Network(round_trip_s, lost_share))
    )
    return "\n## For your network\n" + "\n".join(told)


def _see_also(name: str, family: str) -> str:
    """The other causes of its family: what looks alike is often one of those."""
    others = [other for other in _members(family) if other != name]
    return f"\n\nOf the same family: {', '.join(others)}." if others else ""


def _members(family: str) -> list[str]:
    named = sorted(name for name, cause in catalogue().items() if cause.family == family)
    return [*named, BESIDE[family]] if family in BESIDE else named


def _listing() -> Iterator[str]:
    """Each family, and a line for each of its causes, however narrow the terminal is."""
    width = width_of(sys.stdout)
    for family, meaning in FAMILIES.items():
        members = _members(family)
        if members:
            yield clip(f"{family}: {meaning}", width)
        for name in members:
            yield clip(f"  {name:<{NAME_CELLS}} {_first_line(name)}", width)


def _family(family: str) -> Iterator[str]:
    """One family, with the whole first sentence of each of its causes."""
    width = width_of(sys.stdout)
    yield from wrapped(f"{family}: {FAMILIES[family]}", width)
    for name in _members(family):
        first = f"  {name:<{NAME_CELLS}} "
        if width - len(first) < BESIDE_CELLS_MIN or len(name) > NAME_CELLS:
            yield f"  {name}"
            first = "      "
        yield from hanging(first, wrapped(_first_line(name), width - len(first)))
    if not _members(family):
        yield "  no cause of this family can be proven yet"


def _first_line(name: str) -> str:
    if name == NOISE:
        return "What sounds bad and means nothing."
    if name == DEADLINES:
        return "The time-outs of TensorFlow, gRPC and TCP."
    return page(name).strip().partition("\n")[0]


def _hint(name: str) -> str:
    """What sounds alike, and what has the same word in it."""
    known = [*catalogue(), *FAMILIES, *BESIDE.values()]
    near = difflib.get_close_matches(name, known, n=NEAR_MAX, cutoff=0.75)
    near += [one for one in known if name in one.split("-")]
    near = near or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    named = list(dict.fromkeys(near))[:NEAR_MAX]
    return f"holdfast explain {' | '.join(named)}" if named else "holdfast explain, for the list"


def _show(markdown: str) -> None:
    """Rendered for a person, plain for a pipe."""
    if not sys.stdout.isatty():
        click.echo(markdown)
        return
    from rich.console import Console  # noqa: PLC0415 - costs time that other commands don't pay
    from rich.markdown import Markdown  # noqa: PLC0415

    width = min(100, shutil.get_terminal_size().columns)
    Console(width=width).print(Markdown(markdown))
