"""A task's bytes become lines that a person can follow."""

import tracemalloc
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.lines import LINE_BYTES_MAX, LineAssembler


def shown(*chunks: bytes, every_s: float = 0.0) -> list[str]:
    lines = LineAssembler()
    out: list[str] = []
    for number, chunk in enumerate(chunks):
        out += lines.feed(chunk, at_s=number * every_s)
    return out + lines.end(at_s=len(chunks) * every_s)


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\r\ntwo", ["one", "two"]),
        (b"no end", ["no end"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"nul\x00 bad\xff \x1b[31mred\x1b[0m\n", ["nul\\x00 bad\ufffd red"]),
        (b"[bold]x[/bold]\n", ["[bold]x[/bold]"]),
        (b"", []),
    ],
)
def test_lines_come_out_whole(raw: bytes, lines: list[str]) -> None:
    assert shown(raw) == lines
    if b"\r" not in raw:
        assert shown(*(bytes([byte]) for byte in raw)) == lines


def test_crlf_split_between_chunks_is_one_line_end() -> None:
    assert shown(b"one\r", b"\ntwo\r", b"\n", every_s=1.0) == ["one", "two"]


def test_a_progress_bar_shows_its_last_state() -> None:
    bar = b"".join(b"\r%3d%%" % percent for percent in range(101))
    assert shown(b"start\n" + bar + b"\nend\n") == ["start", "100%", "end"]


def test_a_progress_bar_is_shown_twice_a_second_at_most() -> None:
    chunks = [b"\r%d%%" % percent for percent in range(100)]
    out = shown(*chunks, b"\n", every_s=0.1)
    assert 15 <= len(out) <= 22
    assert out[-1] == "99%"


def test_a_stalled_progress_bar_shows_where_it_stands() -> None:
    lines = LineAssembler()
    assert lines.feed(b"\r49%\r50%", at_s=0.0) == ["50%"]
    assert lines.feed(b"\r51%", at_s=0.1) == []
    assert lines.tick(at_s=0.7) == ["51%"]
    assert lines.tick(at_s=1.4) == []
    assert lines.feed(b"\n", at_s=1.5) == []


def test_keras_backspaces_do_not_show() -> None:
    assert shown(b"1/2 [=>..]" + b"\b" * 200 + b"\r2/2 [====]" + b"\b" * 200 + b"\n") == [
        "2/2 [====]"
    ]


def test_a_line_of_10_megabytes_costs_bounded_memory() -> None:
    lines = LineAssembler()
    chunk = b"x" * 65_536
    tracemalloc.start()
    for _ in range(160):
        lines.feed(chunk, at_s=0.0)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (line,) = lines.feed(b"\n", at_s=0.0)
    assert peak_bytes < 1 << 20
    assert line == "x" * LINE_BYTES_MAX + "… (+10.5 MB)"


def test_a_cut_line_does_not_end_in_half_a_character() -> None:
    (line,) = shown(b"a" + "é".encode() * 4000 + b"\n")
    assert "\ufffd" not in line
    assert line.endswith("é… (+3.9 kB)")


def test_repeats_are_folded() -> None:
    assert shown(b"again\n" * 25 + b"other\n") == ["again", "again \u00d725", "other"]


def test_repeats_under_a_new_time_are_folded() -> None:
    raw = b"".join(b"2026-11-15 18:02:%02d.1: I still waiting for x\n" % n for n in range(25))
    assert shown(raw) == [
        "2026-11-15 18:02:00.1: I still waiting for x",
        "2026-11-15 18:02:24.1: I still waiting for x \u00d725",
    ]
    glog = b"".join(b"W1115 18:02:%02d.123456 77 x.cc:1] slow\n" % n for n in range(3))
    assert shown(glog)[1:] == ["W1115 18:02:02.123456 77 x.cc:1] slow \u00d73"]


def test_lines_that_differ_in_more_than_the_time_stay() -> None:
    raw = b"1 apple fell down\n2 apple fell down\n18:00:01 loss 1 then\n18:00:02 loss 2 then\n"
    assert len(shown(raw)) == 4


def test_a_growing_count_is_shown_now_and_then() -> None:
    lines = LineAssembler()
    assert lines.feed(b"wait\n" * 3, at_s=0.0) == ["wait"]
    assert lines.tick(at_s=1.0) == []
    assert lines.tick(at_s=6.0) == ["wait \u00d73"]
    assert lines.tick(at_s=60.0) == []
    assert lines.feed(b"wait\nnew\n", at_s=61.0) == ["wait \u00d74", "new"]


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_no_bytes_can_harm_the_terminal(chunks: list[bytes]) -> None:
    for line in shown(*chunks, every_s=0.3):
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Zl") for char in line)


@given(st.text(st.sampled_from("ab\n"), max_size=60), st.integers(min_value=1, max_value=9))
def test_chunk_borders_do_not_matter(text: str, size: int) -> None:
    raw = text.encode()
    assert shown(*(raw[at : at + size] for at in range(0, len(raw), size))) == shown(raw)


def test_a_line_that_is_left_out_is_asked_for_each_time_and_parts_nothing() -> None:
    asked: list[str] = []

    def hides(text: str, at_s: float) -> bool:
        asked.append(text)
        return text == "noise"

    lines = LineAssembler(hides)
    shown = lines.feed(b"same\nnoise\nsame\nnoise\nother\n", at_s=0.0)
    assert shown == ["same", "same \u00d72", "other"]
    assert asked.count("noise") == 2
