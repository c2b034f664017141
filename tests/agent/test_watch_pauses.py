"""How long the watcher rests between two rounds: by what rounds cost, and not by one of them."""

import time
from pathlib import Path

import pytest

from holdfast.agent import watch
from holdfast.agent.watch_order import WatchOrder
from holdfast.logdir.run_dir import create_run_dir


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> watch.Watcher:
    monkeypatch.setattr(watch.Watcher, "_if_possible", lambda *_: [])  # no socket is left open
    run_dir = create_run_dir(tmp_path / "run")
    run_dir.write_json("run.json", {})
    order = WatchOrder(
        run_dir=str(run_dir.path), addresses={}, zero_s=time.monotonic(), host="host-a"
    )
    return watch.Watcher(order)


def rests_s(watcher: watch.Watcher, monkeypatch: pytest.MonkeyPatch, cost_s: float) -> float:
    """After a round of this cost."""
    watcher._cpu_s = 0.0
    monkeypatch.setattr(time, "process_time", lambda: cost_s)
    return watcher._rest_s()


def test_one_dear_round_does_not_make_it_blind(
    watcher: watch.Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        assert rests_s(watcher, monkeypatch, 0.002) == watch.EVERY_S
    assert rests_s(watcher, monkeypatch, 0.025) < 2 * watch.EVERY_S
    assert rests_s(watcher, monkeypatch, 0.002) < 2 * watch.EVERY_S


def test_dear_rounds_become_rare(watcher: watch.Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    rests = [rests_s(watcher, monkeypatch, 0.05) for _ in range(20)]
    assert rests == sorted(rests)
    assert rests[-1] == watch.EVERY_S_MAX
