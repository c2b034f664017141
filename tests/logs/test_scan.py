"""The scanner hears the same lines as whoever looks at every single one of them."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.logs.filter import Telling
from holdfast.logs.joined import Joined
from holdfast.logs.part import Part
from holdfast.logs.scan import BLOCK_BYTES, scan
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.hearing import BEFORE_BYTES, LINE_BYTES_MAX, Heard, hear_text
from holdfast.model.pattern import AnyOf, Pattern

PATTERNS = tuple(
    map(
        Pattern,
        (
            r"Traceback \(most recent call last\):",
            r"lost\s+worker",
            r"(?i)out of memory: .*",
            r"^exit (?P<culprit>\S+)$",
            r"x\S+y",
        ),
    )
)
PIECES = [
    b"Traceback (most recent call last):",
    b'  File "train.py", line 1, in <module>',
    b"ValueError: lost worker",
    b"During handling of the above exception, another exception occurred:",
    b"lost worker",
    b"lost",
    b"worker",
    b"Out Of Memory: all",
    b"exit worker:1",
    b"x\x0by",
    b"\xff\xfe",
    b"",
    b" ",
]
ENDS = [b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b""]


def contents() -> st.SearchStrategy[bytes]:
    piece = st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)).map(b"".join)
    return st.lists(piece, max_size=30).map(b"".join)


def reader(content: bytes, start: int, most: int) -> Callable[[int], bytes]:
    """Gives few bytes at a time, as a pipe does."""
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        some = content[at : at + min(size, most)]
        at += len(some)
        return some

    return read


def heard_in_parts(
    content: bytes, telling: Telling, *, part_bytes: int, most: int = BLOCK_BYTES
) -> Heard:
    joined = Joined("job.log")
    for start in range(0, max(1, len(content)), part_bytes):
        end = start + part_bytes if start + part_bytes < len(content) else -1
        part = Part(path=b"job.log", source="job.log", start=start, end=end)
        inside = start > 0 and begins_inside(content, start)
        above = content[max(0, start - BEFORE_BYTES) : start]
        read = reader(content, start, most)
        joined.add(scan(part, read, telling, inside=inside, above=above))
    heard = joined.heard()
    assert heard is not None
    return heard


def begins_inside(content: bytes, start: int) -> bool:
    before, first = content[start - 1 : start], content[start : start + 1]
    return before != b"\n" and (before != b"\r" or first == b"\n")


def facts(heard: Heard) -> list[object]:
    return [fact for fact in heard.facts if isinstance(fact, LogLine | TracebackSeen)]


FAST = Telling(PATTERNS)
SLOW = Telling(PATTERNS, fast=False)


@given(contents())
@settings(deadline=None)
@example(b"lost\nworker\n")
@example(b"exit worker:1\r\nlost worker\r")
def test_two_ways_to_find_the_lines_find_the_same(content: bytes) -> None:
    marked = content.replace(b"\r", b"\n")
    by_line: list[bytes] = [
        line for line in marked.split(b"\n") if AnyOf(PATTERNS).first(line, 0) >= 0
    ]
    for telling in (FAST, SLOW):
        spans = telling.spans(marked, line_bytes_max=LINE_BYTES_MAX)
        assert [marked[start:stop] for start, stop in spans] == by_line


@given(contents())
@settings(deadline=None, max_examples=400)
@example(
    b"Traceback (most recent call last):\n\nlost worker\nTraceback (most recent call last):\n\n"
    b'  File "train.py", line 1, in <module>\nValueError: lost worker\n'
)
def test_what_is_heard_is_what_a_look_at_every_line_hears(content: bytes) -> None:
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"").rstrip(b"\n")
    wanted = hear_text("job.log", content, AnyOf(PATTERNS))
    assert facts(heard_in_parts(content, FAST, part_bytes=1 << 20)) == facts(wanted)


@given(contents(), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_it_does_not_matter_in_which_pieces_the_bytes_come(content: bytes, most: int) -> None:
    wanted = heard_in_parts(content, FAST, part_bytes=1 << 20)
    assert heard_in_parts(content, FAST, part_bytes=1 << 20, most=most) == wanted


@given(contents(), st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=500, deadline=None)
def test_it_does_not_matter_where_a_file_is_cut_into_parts(
    content: bytes, part_bytes: int, most: int
) -> None:
    wanted = heard_in_parts(content, FAST, part_bytes=1 << 20)
    assert heard_in_parts(content, FAST, part_bytes=part_bytes, most=most) == wanted


@pytest.mark.parametrize("closer", ["", "{0} I train.py:9] step {0}\n"])
def test_a_traceback_that_comes_again_and_again_is_heard_each_time(closer: str) -> None:
    one = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 1, in <module>\n    fetch()\nTimeoutError: no answer\n'
    )
    content = "".join(one + closer.format(n) for n in range(12)).encode()
    patterns = [Pattern(r"Traceback \(most recent call last\):")]
    wanted = facts(hear_text("job.log", content.rstrip(b"\n"), AnyOf(patterns)))
    found = facts(heard_in_parts(content.rstrip(b"\n"), Telling(patterns), part_bytes=1 << 20))
    assert found == wanted
    assert len(found) == 12
