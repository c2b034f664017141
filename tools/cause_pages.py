"""Writes docs/causes, a page for each cause, from docstrings and fixtures; checks all links."""

import re
import sys
from collections.abc import Iterator
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.broken_links import broken_links

from holdfast.diagnose import catalogue, diagnose, page, words_to_hear
from holdfast.logdir.run_dir import log_name
from holdfast.model.codec import decode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact
from holdfast.model.families import FAMILIES
from holdfast.model.hearing import hear_text, settle
from holdfast.model.noise import said_to_be_harmless
from holdfast.model.pattern import AnyOf
from holdfast.views.fact_text import fact_text
from holdfast.views.report import report
from holdfast.views.sanitise import clip, plain
from holdfast.views.text import report_text

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "causes"
TARGET = ROOT / "docs" / "causes"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "docs")
WIDTH = 96
EVERY = "[All causes](index.md)"
CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!```|## )[^\n]*\n)*```(?P<kind>journal|log)\n(?P<text>.*?)```\n"
    r"expect: (?P<expect>[^\n]+)$",
    re.DOTALL | re.MULTILINE,
)
NEXT_FILE = re.compile(r"^=== (\S+)\n", re.MULTILINE)


class Example(NamedTuple):
    """A case of a fixture in which the cause is found."""

    title: str
    shown: str
    facts: list[Fact]


def main() -> None:
    """`python -m tools.cause_pages [FOLDER]`. Exit code 1 where a link leads nowhere."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    write_pages(target)
    broken = broken_links((*PAGES, target))
    print(f"{len(list(target.iterdir()))} pages in {target}")
    for said in broken:
        print(f"broken link: {said}", file=sys.stderr)
    sys.exit(1 if broken else 0)


def write_pages(target: Path) -> None:
    """All pages anew: none of a cause that is gone stays."""
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.md"):
        old.unlink()
    (target / "index.md").write_text(index_page())
    (target / "noise.md").write_text(f"# Noise\n\n{EVERY}\n\n{said_to_be_harmless()}\n")
    for name in catalogue():
        (target / f"{name}.md").write_text(cause_page(name))


def index_page() -> str:
    """Every family with its causes, each with its first sentence."""
    known = f"Holdfast knows {len(catalogue())} causes. Here they are by kind of trouble."
    blocks = [f"# All causes\n\n{known}"]
    for family, meaning in FAMILIES.items():
        links = [f"- [{name}]({name}.md): {_first_sentence(name)}" for name in _members(family)]
        if links:
            blocks.append(
                f"## {family}\n\n{meaning[0].upper()}{meaning[1:]}.\n\n" + "\n".join(links)
            )
    blocks.append("## Harmless\n\n[Noise](noise.md): lines that sound bad and mean nothing.")
    return "\n\n".join(blocks) + "\n"


def cause_page(name: str) -> str:
    """What its docstring says, and what it looks like in a case of its own fixture."""
    family = catalogue()[name].family
    first, _, rest = page(name).strip().partition("\n")
    about = f"{EVERY} · family [{family}](index.md#{family}): {FAMILIES[family]}"
    blocks = [f"# {name}", first, about, rest.strip()]
    example = next(_examples(name), None)
    if example is not None:
        evidence = Evidence(example.facts)
        made = report(diagnose(evidence), evidence, log_name=log_name)
        told = report_text(made, width=WIDTH, colour=False, zone=UTC)
        blocks += [f"## Example: {example.title[0].lower()}{example.title[1:]}"]
        blocks += [_fenced(example.shown), "Holdfast says:", _fenced(told)]
    return "\n\n".join(blocks) + "\n"


def _first_sentence(name: str) -> str:
    return page(name).strip().partition("\n")[0]


def _members(family: str) -> list[str]:
    return sorted(name for name, cause in catalogue().items() if cause.family == family)


def _examples(name: str) -> Iterator[Example]:
    """The cases that must yield this cause; logs before journals, for people read logs."""
    path = FIXTURES / f"{name}.md"
    cases = list(CASE.finditer(path.read_text())) if path.exists() else []
    fitting = [case for case in cases if f"{name} at " in case["expect"]]
    for case in sorted(fitting, key=lambda case: case["kind"] != "log"):
        if case["kind"] == "log":
            heard = [hear_text(name, log, _telling()) for name, log in _files(case["text"])]
            yield Example(case["title"], case["text"].strip("\n"), settle(heard))
        else:
            facts = [decode(line) for line in case["text"].splitlines()]
            yield Example(case["title"], "\n".join(map(_line, facts)), facts)


def _files(text: str) -> list[tuple[str, bytes]]:
    first, *parts = NEXT_FILE.split(text)
    named = list(zip(parts[::2], parts[1::2], strict=True))
    return [
        (name, log.encode()) for name, log in [*([("job.log", first)] if first else []), *named]
    ]


@cache
def _telling() -> AnyOf:
    return AnyOf(words_to_hear())


def _line(fact: Fact) -> str:
    """A fact of a journal as a person would note it."""
    if isinstance(fact, AttemptStarted):
        return clip(f"{fact.at_s:8.1f} s  start: {' '.join(fact.tasks)}", WIDTH)
    return clip(f"{fact.at_s:8.1f} s  {fact.task or fact.host}  {plain(fact_text(fact))}", WIDTH)


def _fenced(text: str) -> str:
    fence = "```" if "```" not in text else "````"
    return f"{fence}text\n{text.rstrip()}\n{fence}"


if __name__ == "__main__":
    main()
