"""A writer that is ahead waits a moment where it helps, and never for what does not move."""

from pathlib import Path

import pytest

from holdfast.rows import pacing
from holdfast.rows.pacing import AHEAD_BYTES, PAUSE_S_MAX, STANDS_S, Backlog, Pace, is_crowded


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, crowded: bool = True) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(pacing.time, "monotonic", lambda: self.now_s)  # type: ignore[attr-defined]
        monkeypatch.setattr(pacing.time, "sleep", self._sleep)  # type: ignore[attr-defined]
        monkeypatch.setattr(pacing, "is_crowded", lambda: crowded)

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def cost_s(self, pace: Pace) -> float:
        before = self.now_s
        pace.wait()
        return self.now_s - before


def test_who_is_taken_over_is_waited_for_up_to_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    logs = list(range(100))

    def look() -> Backlog:
        gone = int((clock.now_s - 100) / 0.3)
        return Backlog(AHEAD_BYTES * 2, f"{logs[gone]:06}.log")

    pace = Pace(look)
    for _ in range(10):
        assert PAUSE_S_MAX <= clock.cost_s(pace) < PAUSE_S_MAX + 0.05


def test_nobody_waits_longer_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace(lambda: Backlog(AHEAD_BYTES * 2 if clock.now_s < 100.05 else 0, "000001.log"))
    assert clock.cost_s(pace) < 0.1


def test_a_stopped_compactor_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace(lambda: Backlog(AHEAD_BYTES * 2, "000001.log"))
    total_s = sum(clock.cost_s(pace) for _ in range(1000))
    assert total_s < STANDS_S + 0.05


@pytest.mark.parametrize(("nbytes", "crowded"), [(AHEAD_BYTES * 2, False), (AHEAD_BYTES, True)])
def test_where_it_would_not_help_nobody_waits(
    monkeypatch: pytest.MonkeyPatch, nbytes: int, *, crowded: bool
) -> None:
    clock = Clock(monkeypatch, crowded=crowded)
    assert clock.cost_s(Pace(lambda: Backlog(nbytes, "000001.log"))) == 0


@pytest.mark.parametrize(
    ("text", "crowded"),
    [
        ("nr_dirty 600\nnr_dirty_background_threshold 1000\n", True),
        ("nr_dirty 400\nnr_dirty_background_threshold 1000\n", False),
        ("nr_dirty 400\n", False),
        ("nr_dirty\n", False),
    ],
)
def test_the_kernel_says_when_its_memory_is_crowded(
    tmp_path: Path, text: str, *, crowded: bool
) -> None:
    (tmp_path / "vmstat").write_text(text)
    assert is_crowded(tmp_path / "vmstat") == crowded
    assert not is_crowded(tmp_path / "none")
