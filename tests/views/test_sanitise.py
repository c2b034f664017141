"""Whatever a stranger writes, the terminal obeys none of it."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.sanitise import cells, clip, plain, plain_bytes

C0 = "".join(map(chr, range(0x20))) + "\x7f"
C1 = "".join(map(chr, range(0x80, 0xA0)))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
INVISIBLE = "\u00ad\u034f\u200b\u200c\u200d\u2028\u2029\u2060\ufeff\u3164\U000e0041\U000e0100"
HOSTILE = st.text(st.sampled_from(C0 + C1 + BIDI + INVISIBLE + "[]PX^_()\\;0m;?8ABc \ud800é日"))
ANY = st.one_of(HOSTILE, st.text(), st.text(st.characters()))


def controls(text: str) -> list[str]:
    return [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@given(ANY)
def test_no_control_character_survives(text: str) -> None:
    assert controls(plain(text)) == []
    plain(text).encode()


@given(ANY)
def test_doing_it_twice_changes_nothing(text: str) -> None:
    once = plain(text)
    assert plain(once) == once


@given(st.binary())
def test_any_bytes_become_harmless_text(raw: bytes) -> None:
    assert controls(plain_bytes(raw)) == []


def test_every_single_code_point_is_harmless() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert controls(plain(everything)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[1;31mred\x1b[0m b", "ared b"),
        ("a\x9b31mred", "ared"),
        ("\x1b]0;owned\x07hi", "hi"),
        ("\x1b]0;owned\x1b\\hi", "hi"),
        ("\x9d0;owned\x9chi", "hi"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\after", "after"),
        ("\x90q#1\x9cafter", "after"),
        ("\x1b_app\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\after", "after"),
        ("\x1b(B\x1b7\x1bcok", "ok"),
        ("cut\x1b", "cut"),
        ("cut\x1b[12;", "cut"),
        ("cut\x1b]0;half", "cut"),
        ("one\x1b]0;half\ntwo", "one\\ntwo"),
        ("\x1b[31é", "é"),
        ("\x1b\x1b[31mx", "x"),
        ("bell\x07nul\x00del\x7f", "bell\\x07nul\\x00del\\x7f"),
        ("a\tb", "a       b"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("zero\u200bwidth\u2028", "zero\\u200bwidth\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\ufffd"),
        ("naïve 日本 ❤\ufe0f no\u00a0break", "naïve 日本 ❤\ufe0f no\u00a0break"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_invalid_utf8_is_replaced() -> None:
    assert plain_bytes(b"\xff\x9b31m ok \xc3") == "\ufffd\ufffd31m ok \ufffd"


def test_plain_text_is_returned_as_it_is() -> None:
    text = "2026-11-15 18:02:58: I tensorflow/core/x.cc:1] hello"
    assert plain(text) is text


@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b]", "\x1b[;", "\x9d", "\u202e", "\x1b ("])
def test_a_long_hostile_line_takes_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    began_s = time.process_time()
    plain(text)
    assert time.process_time() - began_s < 2.0


@given(st.text().map(plain), st.integers(min_value=0, max_value=30))
def test_clip_keeps_to_the_width(text: str, width: int) -> None:
    clipped = clip(text, width)
    assert cells(clipped) <= width
    assert clipped == text or cells(text) > width or len(text) > 4 * width


def test_clip_counts_cells_not_characters() -> None:
    assert clip("日本語テキスト", 7) == "日本語…"
    assert clip("日本語", 6) == "日本語"
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"
    assert len(clip("e" + "\u0301" * 10_000, 80)) < 400
