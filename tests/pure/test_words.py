"""Names, sizes and times in sentences."""

import pytest

from holdfast.model.words import bytes_text, listed, seconds_text, wait


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
        (["a", "a", "b"], "a and b"),
    ],
)
def test_names_read_as_a_sentence(names: list[str], words: str) -> None:
    assert listed(names) == words


def test_the_verb_goes_with_the_number() -> None:
    assert [wait(1), wait(2)] == ["waits", "wait"]


def test_those_without_a_name_are_counted_too() -> None:
    assert listed(["a", "b", "c"], total=9) == "a, b, c and 6 more"
    assert listed(["a"], total=1) == "a"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ms"), (0.0004, "0.4 ms"), (0.25, "250 ms"), (90.0, "90 s")]
)
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (18 << 30, "18.0 GiB")],
)
def test_sizes_are_readable(count: int, text: str) -> None:
    assert bytes_text(count) == text
