"""The crash layer itself: it strikes where it says, and a writer that is wrong is caught."""

import errno
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # the crash layer is in bench/
from bench.rows.points import Point, Range, Target
from bench.rows.shim import How, NoCompilerError, built
from bench.rows.warm import Warm

try:
    built()
    WHY_NOT = ""
except NoCompilerError as error:
    WHY_NOT = str(error)
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

OUTLIVES_KILLS = {
    "right": True,
    "says_so_before_it_writes": False,
    "never_syncs": True,
    "forgets_the_folder": True,
    "writes_anew_in_place": False,
    "replaces_by_rename": True,
}
OUTLIVES_POWER_CUTS = OUTLIVES_KILLS | {
    "never_syncs": False,
    "forgets_the_folder": False,
    "says_so_before_it_writes": False,
}


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm("tests.rows.toy_writers") as started:
        yield started


def kills(aimed: Range) -> list[Point]:
    calls = range(1, len(aimed.calls()) + 1)
    return [aimed.killed(at, how) for how in (How.KILL_BEFORE, How.KILL_WITHIN) for at in calls]


def wrong(points: list[Point]) -> list[str]:
    return [str(point) for point in points if point.wrong]


def test_counts_every_call_that_changes_the_folder(warm: Warm, tmp_path: Path) -> None:
    aimed = Range(warm, Target("toy", "right"), 0, tmp_path)
    assert aimed.calls() == "os" + "ws" * 12


@pytest.mark.parametrize("program", OUTLIVES_KILLS)
def test_a_kill_at_any_call_shows_who_loses_rows(warm: Warm, tmp_path: Path, program: str) -> None:
    points = kills(Range(warm, Target("toy", program), 0, tmp_path))
    assert len(points) > 20
    assert (not wrong(points)) == OUTLIVES_KILLS[program], wrong(points)


@pytest.mark.parametrize("program", OUTLIVES_POWER_CUTS)
def test_a_power_cut_after_any_call_shows_who_loses_rows(
    warm: Warm, tmp_path: Path, program: str
) -> None:
    aimed = Range(warm, Target("toy", program), 0, tmp_path)
    points = list(aimed.cut_off(1000, random.Random(0)))
    assert len(points) >= 12
    assert (not wrong(points)) == OUTLIVES_POWER_CUTS[program], wrong(points)


def test_a_failing_call_shows_who_writes_rows_twice(warm: Warm, tmp_path: Path) -> None:
    aimed = Range(warm, Target("toy", "repeats_what_failed"), 0, tmp_path)
    points = [aimed.failed(at, errno.EIO, 1) for at in range(2, len(aimed.calls()) + 1)]
    assert any("doubled" in point.wrong for point in points)
    assert not all(point.wrong for point in points)


def test_an_error_that_is_not_caught_counts_as_wrong(warm: Warm, tmp_path: Path) -> None:
    aimed = Range(warm, Target("toy", "right"), 0, tmp_path)
    assert "No space left on device" in aimed.failed(3, errno.ENOSPC, 1).wrong
