"""`holdfast explain`: the causes we know, and the page of each."""

import difflib
import shutil
import sys

import click

from holdfast.diagnose import catalogue, page
from holdfast.model.errors import UsageError
from holdfast.model.families import FAMILIES


@click.command()
@click.argument("cause", required=False)
def command(cause: str | None) -> None:
    """Explain CAUSE: what you see, why it happens, what to do. Without CAUSE, list them all."""
    if cause is None:
        click.echo(_listing())
        return
    name = cause.lower().replace("_", "-")
    if name not in catalogue():
        near = difflib.get_close_matches(name, catalogue(), n=1, cutoff=0.5)
        hint = f"holdfast explain {near[0]}" if near else "holdfast explain, for the list"
        raise UsageError(f"there is no cause named {cause!r}", do=hint)
    _show(f"# {name}\n\n*family:* {catalogue()[name].family}\n\n{page(name).strip()}")


def _listing() -> str:
    lines: list[str] = []
    for family, meaning in FAMILIES.items():
        members = [name for name, cause in catalogue().items() if cause.family == family]
        if members:
            lines.append(f"{family}: {meaning}")
            lines += [f"  {name:<24} {_first_line(name)}" for name in sorted(members)]
    return "\n".join(lines)


def _first_line(name: str) -> str:
    return page(name).strip().partition("\n")[0]


def _show(markdown: str) -> None:
    """Rendered for a person, plain for a pipe."""
    if not sys.stdout.isatty():
        click.echo(markdown)
        return
    from rich.console import Console  # noqa: PLC0415 - costs time that other commands don't pay
    from rich.markdown import Markdown  # noqa: PLC0415

    width = min(100, shutil.get_terminal_size().columns)
    Console(width=width).print(Markdown(markdown))
