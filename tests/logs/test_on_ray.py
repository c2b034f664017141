"""A Ray cluster reads the same logs to the same facts, and where there is none, that is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.on_ray import cluster

from holdfast.logs import read as reading
from holdfast.logs.on_ray import ray_scan
from holdfast.logs.read import read, read_with
from holdfast.model.errors import Unreachable

pytestmark = pytest.mark.timeout(240)
RAYLETS = 3


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster(RAYLETS) as found:
        yield found


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files, of which one is read in several parts, and one that cannot be read."""
    monkeypatch.setattr(reading, "PART_BYTES", 50_000)
    calm = "".join(f"2026-11-16 10:00:{n % 60:02}: I train.cc:1] step {n}\n" for n in range(5_000))
    failed = "OSError: [Errno 28] No space left on device: '/data/ckpt'\n"
    for name in ("worker-0.log", "worker-1.log", "ps-0.log"):
        text = calm + failed + calm if name == "worker-1.log" else calm
        (tmp_path / name).write_text(text)
    (tmp_path / "worker-2.log.gz").write_bytes(b"\x1f\x8b not gzip at all")
    return tmp_path


def test_the_facts_are_the_same_wherever_they_were_read(address: str, logs: Path) -> None:
    here = read([str(logs)], jobs=1)
    there = read_with(ray_scan(address), [str(logs)])
    assert there == here
    assert any("No space left" in str(fact) for fact in there.facts)
    assert any("worker-2" in said for said in there.unknown)


def test_without_a_cluster_it_says_how_to_start_one(logs: Path) -> None:
    with pytest.raises(Unreachable, match="there is no Ray cluster at") as caught:
        read_with(ray_scan("127.0.0.1:1"), [str(logs)])
    assert "ray start --head" in caught.value.do
