"""Lists of names in sentences."""

import pytest

from holdfast.model.words import listed, wait


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
