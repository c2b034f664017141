"""Words and looser patterns find every line that the patterns themselves do."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.diagnose import words_to_hear
from holdfast.logs.filter import Telling
from holdfast.logs.literals import LINE_START, Word, words_of
from holdfast.logs.loose import loosened
from holdfast.model.hearing import LINE_BYTES_MAX
from holdfast.model.pattern import AnyOf, Pattern

PATTERNS = words_to_hear()
FAST = Telling(PATTERNS)
SLOW = Telling(PATTERNS, fast=False)


def lines_like(pattern: Pattern) -> st.SearchStrategy[str]:
    """Lines that a pattern matches, and some that nearly do."""
    return st.from_regex(
        re.compile(pattern.unnamed, re.ASCII), alphabet=st.characters(codec="ascii")
    )


def told(telling: Telling, block: bytes) -> list[bytes]:
    spans = telling.spans(block, line_bytes_max=LINE_BYTES_MAX)
    return [block[start:stop] for start, stop in spans]


def matches(pattern: Pattern, line: bytes) -> bool:
    return AnyOf([pattern]).first(line, 0) >= 0


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_every_line_that_matches_holds_one_of_the_words(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(lines_like(pattern))
    line = text.encode().replace(b"\n", b" ").replace(b"\r", b" ")
    if not matches(pattern, line):
        return
    words = words_of(pattern.text)
    whole = (LINE_START + line.decode()).replace("\x00", " ")
    assert not words or any(is_in(word, whole) for word in words)
    assert matches(loosened(pattern), line)


def is_in(word: Word, text: str) -> bool:
    return word.text.lower() in text.lower() if word.any_case else word.text in text


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_with_hyperscan_or_without_it_the_same_lines_tell(data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4))
    pieces = [data.draw(lines_like(pattern)) for pattern in some]
    ends = data.draw(st.lists(st.sampled_from(["\n", " ", "\n\n"]), min_size=4, max_size=4))
    block = "".join(piece + end for piece, end in zip(pieces, ends, strict=False)).encode()
    one_by_one = [line for line in block.split(b"\n") if any(matches(p, line) for p in PATTERNS)]
    assert told(FAST, block) == one_by_one
    assert told(SLOW, block) == one_by_one


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"Too many open files|EMFILE", {"Too many open files", "EMFILE"}),
        (r"[Tt]runcated record at \d+", {"runcated record at "}),
        (r"lost (?:worker|ps):\d+ for good", {" for good"}),
        (r"^exit [0-9a-f]+", {"\nexit "}),
        (r"(?i)address already in use", {"address already in use"}),
        (r"Xid \((?P<culprit>PCI[^)]*)\): 79\b", {"Xid ("}),
        (r"ab|cd", set()),
        (r"\d+ .* \w+", set()),
        (r"failed", set()),
        (r"x{2,3}", set()),
        (r"a\pN+bcdef", set()),
        (r"broken [pP]ipe(?:s)?", {"broken pipe", "broken Pipe"}),
    ],
)
def test_the_words_are_the_rarest_that_must_be_there(pattern: str, words: set[str]) -> None:
    assert {word.text for word in words_of(pattern)} == words


def test_a_looser_pattern_has_no_long_repetitions() -> None:
    tight = Pattern(r"^(?P<who>\w{1,60}): .{0,900}\bfail{2}\b[${5}]{3,}$")
    assert loosened(tight) == Pattern(r"^(?:\w+): .*fail{2}[${5}]+")


def test_a_vertical_tab_is_no_space_for_either() -> None:
    patterns = [Pattern(r"a\Sb"), Pattern(r"c\sd")]
    for fast in (True, False):
        assert told(Telling(patterns, fast=fast), b"a\x0bb\nc\x0bd\nc d") == [b"a\x0bb", b"c d"]


def test_bytes_that_are_no_text_are_just_bytes() -> None:
    for telling in (FAST, SLOW):
        assert told(telling, b"\xff\xfe\x00 Too many open files \xc3\n\xe9") != []
        assert told(telling, b"") == []
