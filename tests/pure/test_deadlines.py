"""What time-outs a network needs: by what was measured on real clusters."""

import pytest

from holdfast.model.deadlines import PAGE, Network, advice, worst_call_s, worst_network
from holdfast.model.facts import Fact, PathMeasured, TimePassed


def wrong(network: Network) -> list[bool]:
    return [one.default_is_wrong for one in advice(network)]


def test_a_near_network_needs_nothing() -> None:
    assert wrong(Network(0.0002)) == [False] * 4
    assert wrong(Network(0.4)) == [False] * 4  # it trains on, slowly and in silence


def test_a_silent_cut_is_noticed_as_late_as_it_was_on_real_clusters() -> None:
    # 939 s with 15 retries, 13.4 s with 5.
    says = advice(Network(0.0))[-1].says
    assert "tcp_retries2=5" in says
    assert says.endswith("after 13 s, not after 925 s")


def test_the_farther_the_longer() -> None:
    calls = [worst_call_s(Network(trip_s)) for trip_s in (0.0, 0.001, 0.1, 3.0)]
    assert calls == sorted(calls) == [0.0, 0.001, 0.1, 3.0]
    lossy = [worst_call_s(Network(0.01, share)) for share in (0.0, 1e-7, 0.001, 0.01, 0.1, 0.3)]
    assert lossy == sorted(lossy)
    assert worst_call_s(Network(0.01, 0.9)) == worst_call_s(Network(0.01, 0.5))


@pytest.mark.parametrize(
    ("network", "beats", "connect"),
    [
        (Network(3.0), "heartbeat_timeout_in_ms=12000", "are enough"),
        (Network(0.05, 0.2), "heartbeat_timeout_in_ms=256000", "are too few"),
    ],
)
def test_where_the_default_is_wrong_the_setting_is_told(
    network: Network, beats: str, connect: str
) -> None:
    said = advice(network)
    assert said[0].default_is_wrong
    assert said[0].says.endswith(beats)
    assert connect in said[1].says


def test_a_cut_is_never_noticed_before_what_gets_through_in_the_end() -> None:
    says = advice(Network(0.1, 0.9))[-1].says
    assert "tcp_retries2=15" in says


def test_the_worst_path_decides() -> None:
    def path(p99_s: float, *, tries: int = 10, lost: int = 0) -> PathMeasured:
        return PathMeasured(
            at_s=1, host="a", address="w:1", tries=tries, lost=lost, p50_s=0.001, p99_s=p99_s
        )

    facts: list[Fact] = [TimePassed(at_s=1, host="a"), path(0.002, lost=5), path(0.3)]
    assert worst_network(facts) == Network(0.3, 0.5)
    assert worst_network([path(0.0, lost=10), path(0.0, tries=0)]) is None


def test_the_page_tells_every_strategy() -> None:
    for name in ("MultiWorkerMirrored", "ParameterServer", "MonitoredTrainingSession", "gRPC"):
        assert f"## {name}" in PAGE
