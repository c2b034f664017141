"""Kills, full disks and power cuts at single calls: nothing acknowledged is lost or doubled."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # the crash layer is in bench/
from bench.rows.crash import Aim, struck
from bench.rows.shim import NoCompilerError, built
from bench.rows.targets import TARGETS
from bench.rows.warm import Warm, scratch

try:
    built()
    WHY_NOT = ""
except NoCompilerError as error:
    WHY_NOT = str(error)
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm() as started:
        yield started


@pytest.mark.parametrize(
    ("name", "act", "points"),
    [
        ("worker", "kill", 50),
        ("worker", "cut", 30),
        ("worker", "fail", 15),
        ("sealer", "kill", 10),
        ("central", "kill", 50),
        ("central", "cut", 10),
        ("merge", "kill", 50),
        ("merge", "cut", 10),
        ("files", "kill", 40),
        ("files", "cut", 5),
        ("files", "fail", 5),
        ("locked", "kill", 5),
    ],
)
def test_every_acknowledged_row_is_there_once(warm: Warm, name: str, act: str, points: int) -> None:
    targets = [one for one in TARGETS[name] if act != "cut" or one.power_safe]
    with scratch() as folder:
        found = list(struck(warm, targets, Aim(act, points, 1, Path(folder))))
    assert len(found) == points
    assert sum(point.acknowledged for point in found) > points
    assert [str(point) for point in found if point.wrong] == []
