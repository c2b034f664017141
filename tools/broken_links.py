"""Finds links in Markdown files that lead to no file, or to no heading in it."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

READER = MarkdownIt("commonmark").enable("table")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)  # https:, mailto:
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


def broken_links(places: Iterable[Path]) -> list[str]:
    """`file: link` for each link that leads nowhere; folders stand for the pages in them."""
    pages = sorted({page for place in places for page in _pages(place)})
    return [f"{page}: {link}" for page in pages for link in _links(page) if not _leads(page, link)]


def _pages(place: Path) -> Iterable[Path]:
    return place.rglob("*.md") if place.is_dir() else [place]


def _links(page: Path) -> Iterator[str]:
    for token in _tokens(page):
        link = token.attrGet("href") or token.attrGet("src")
        if token.type in ("link_open", "image") and link and not ELSEWHERE.match(str(link)):
            yield str(link)


def _leads(page: Path, link: str) -> bool:
    name, _, anchor = unquote(link).partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return False
    return not anchor or anchor in _anchors(target)


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The names that GitHub gives to headings."""
    tokens = list(_tokens(page))
    heads = [after for token, after in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(NOT_IN_ANCHORS.sub("", one.content.lower()).replace(" ", "-") for one in heads)


def _tokens(page: Path) -> Iterator[Token]:
    for token in READER.parse(page.read_text()):
        yield token
        yield from token.children or []
