"""Cores as the kernel lists them."""

import pytest

from holdfast.model.core_list import core_list, cores_in


@pytest.mark.parametrize(
    ("cores", "text"),
    [({0}, "0"), ({0, 1, 2, 3, 8}, "0-3,8"), ({5, 7}, "5,7"), (range(64), "0-63")],
)
def test_cores_are_written_and_read_as_the_kernel_does(cores: set[int], text: str) -> None:
    assert core_list(cores) == text
    assert cores_in(text) == frozenset(cores)


@pytest.mark.parametrize("text", ["", "a", "0-b", "-1", "0--3"])
def test_what_is_no_list_has_no_cores(text: str) -> None:
    assert cores_in(text) == frozenset()


def test_no_cores_are_nothing_and_a_strangers_list_is_bounded() -> None:
    assert core_list([]) == ""
    assert len(cores_in("0-999999999")) < 10_000
