"""The middle of some numbers is what the standard library says it is."""

import statistics

from hypothesis import given
from hypothesis import strategies as some

from holdfast.model.middle import median, median_low

numbers = some.lists(some.floats(-1e9, 1e9), min_size=1, max_size=20)


@given(numbers)
def test_it_is_that_of_the_library(values: list[float]) -> None:
    assert median(values) == statistics.median(values)
    assert median_low(values) == statistics.median_low(values)
