"""Log lines come from strangers: no line makes a pattern slow, and none is missed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.diagnose import catalogue, telling_lines
from holdfast.model.pattern import AnyOf, Pattern

# Python's own `re` takes 22 s for 28 of these, and twice as long for each one more.
HOSTILE = "a" * 1_000_000
HOSTILE_S_MAX = 10.0  # RE2 takes some milliseconds, a loaded machine a little longer


def test_search_gives_the_match_and_its_groups() -> None:
    pattern = Pattern(r"task (\d+)")
    assert pattern.search("no such thing") is None
    assert pattern.search("see task 12").group(1) == "12"
    assert [found.group(1) for found in pattern.each("task 1, task 2")] == ["1", "2"]


def test_equal_text_is_an_equal_pattern() -> None:
    assert {Pattern("a"), Pattern("a"), Pattern("b")} == {Pattern("a"), Pattern("b")}


@pytest.mark.parametrize("text", [r"^(a+)+$", r"^(a|aa)+$", r"(a*)*b", r"(?:a|a)*?c$"])
def test_a_hostile_line_takes_linear_time(text: str) -> None:
    began_s = time.process_time()
    Pattern(text).search(HOSTILE + "!")
    AnyOf([Pattern(text)]).first(HOSTILE.encode() + b"!", 0)
    assert time.process_time() - began_s < HOSTILE_S_MAX


@pytest.mark.parametrize("piece", ["a", "Check failed: ", "/a", "1.", "can't open file '", " "])
def test_no_line_is_hostile_to_the_catalogue(piece: str) -> None:
    line = piece * (200_000 // len(piece))
    began_s = time.process_time()
    telling_lines().first(line.encode(), 0)
    for cause in catalogue().values():
        for pattern in cause.hears:
            pattern.search(line)
    assert time.process_time() - began_s < HOSTILE_S_MAX


def test_any_of_finds_the_first_place_from_a_start() -> None:
    either = AnyOf([Pattern("full"), Pattern("^refused")])
    chunk = b"refused\nnot refused\nfull\nrefused"
    assert either.first(chunk, 0) == 0
    assert either.first(chunk, 1) == 20
    assert either.first(chunk, 21) == 25
    assert either.first(chunk, 26) == -1


def test_any_of_reads_bytes_that_are_no_text() -> None:
    assert AnyOf([Pattern("full")]).first(b"\xff\xfe\x00 full \x80", 0) == 4


WORDS = ("Connection refused", "No space left on device", "Check failed: x", "step 20", "", "é")


@given(st.lists(st.sampled_from(WORDS), max_size=6).map("\n".join))
def test_any_of_hears_every_line_that_some_cause_hears(chunk: str) -> None:
    heard = any(
        pattern.search(line)
        for line in chunk.split("\n")
        for cause in catalogue().values()
        for pattern in cause.hears
    )
    assert (telling_lines().first(chunk.encode(), 0) >= 0) == heard
