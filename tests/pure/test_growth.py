"""When something that grows will have reached its limit."""

import pytest

from holdfast.model.growth import Growth, Track


def track(*points: tuple[float, float], over_s_max: float = 30.0) -> Track:
    kept = Track(over_s_max=over_s_max)
    for at_s, amount in points:
        kept.add(at_s, amount)
    return kept


def line(per_s: float, *, every_s: float = 2.0, count: int = 8) -> list[tuple[float, float]]:
    return [(index * every_s, 100.0 + index * every_s * per_s) for index in range(count)]


def test_steady_growth_is_measured_over_the_points_kept() -> None:
    assert track(*line(5.0)).growth() == Growth(per_s=5.0, over_s=14.0, is_steady=True)


def test_what_shrinks_has_no_end_to_reach() -> None:
    growth = track(*line(-5.0)).growth()
    assert growth == Growth(per_s=-5.0, over_s=14.0, is_steady=True)
    assert growth.left_s(100.0) is None


def test_the_room_left_is_gone_at_the_same_pace() -> None:
    assert Growth(per_s=4.0, over_s=10.0, is_steady=True).left_s(100.0) == 25.0


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(line(5.0, count=4), id="four points"),
        pytest.param(line(5.0, every_s=1.0), id="seven seconds"),
    ],
)
def test_too_little_says_nothing(points: list[tuple[float, float]]) -> None:
    assert track(*points).growth() is None


@pytest.mark.parametrize(
    "amounts",
    [
        pytest.param([0, 9, 1, 8, 2, 9, 3, 10], id="up and down"),
        pytest.param([0, 50, 90, 100, 100, 100, 100, 100], id="a buffer that is full"),
        pytest.param([100, 50, 10, 0, 0, 0, 0, 0], id="and one that is empty"),
        pytest.param([0, 0, 0, 0, 0, 40, 80, 120], id="a jump"),
        pytest.param([7, 7, 7, 7, 7, 7, 7, 7], id="no change"),
    ],
)
def test_what_does_not_go_on_is_not_steady(amounts: list[float]) -> None:
    growth = track(*((index * 2.0, amount) for index, amount in enumerate(amounts))).growth()
    assert growth is not None
    assert not growth.is_steady


def test_old_points_are_forgotten() -> None:
    kept = track((0.0, 0.0), *((100.0 + index * 2, 50.0 + index) for index in range(8)))
    growth = kept.growth()
    assert growth is not None
    assert (growth.per_s, growth.over_s) == (0.5, 14.0)


def test_the_newest_amount_is_known() -> None:
    kept = Track()
    assert kept.last is None
    kept.add(1.0, 5.0)
    assert kept.last == 5.0
