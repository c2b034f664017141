"""The compactor: rows of all sources, once, in order, whoever is killed when."""

import errno
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast import rows
from holdfast.rows import central_schema, lease
from holdfast.rows.central_state import central_folder, published
from holdfast.rows.compactor import Compactor
from holdfast.rows.segment import read_segment
from holdfast.rows.verifying import verify

WAIT_S = 120.0


def compactor(logdir: Path, said: list[str] | None = None, **settings: Any) -> Compactor:
    warned = said if said is not None else []
    return Compactor(logdir, warn=warned.append, **settings)


def until(is_so: Callable[[], object]) -> None:
    end_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def child_pid(logdir: Path) -> int | None:
    owner = lease.owner_of(central_folder(logdir) / "compactor")
    return owner.pid if owner else None


def _has_grown(logdir: Path, segment: int) -> bool:
    return published(logdir).segment > segment


def test_rows_of_all_sources_arrive_once_in_order_with_their_origin(
    tmp_path: Path, arrived: Callable[..., Any]
) -> None:
    writers = [
        rows.open(tmp_path, task=f"worker:{number}", way="central", log_bytes_max=20_000)
        for number in range(3)
    ]
    with compactor(tmp_path, age_s=0.0, segment_bytes=30_000) as one:
        for turn in range(60):
            for number, writer in enumerate(writers):
                writer.append("a/x", np.full((10, 8), 3 * turn + number, "<f4"))
                writer.append_many({"t": [f"{turn}", "ü"], "a/z": np.arange(3)})
            if turn % 7 == 0:
                one.tick()
        writers[0].attrs("a/x", unit="m")
        one.drain()
        for writer in writers:
            writer.close()
        one.drain()
    found = arrived(tmp_path)
    for number in range(3):
        mine = found[f"worker-{number}.0001"]
        assert (mine["a/x"][:, 0] == np.repeat(np.arange(60) * 3 + number, 10)).all()
        assert [text.decode() for text in mine["t"][:4]] == ["0", "ü", "1", "ü"]
        assert len(mine["a/z"]) == 180
    # What is contained is not kept twice.
    assert not list(tmp_path.glob("rows/worker-*/*.log"))
    segments = sorted(central_folder(tmp_path).glob("*.h5"))
    first_row = 0
    for path in segments:  # as any other segment, also for those who verify and merge
        stored = {item.dataset.name: item for item in read_segment(path).datasets}
        assert stored["a/x"].first_row == first_row
        first_row += stored["a/x"].rows
    with h5py.File(segments[-1]) as file:
        assert file["a/x"].attrs["unit"] == "m"


def test_a_group_is_never_parted(tmp_path: Path) -> None:
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        for _ in range(20):
            writer.append_many({"a": np.zeros(100), "b": np.zeros(100)})
    with compactor(tmp_path, segment_bytes=1000) as one:
        one.drain()
    for path in central_folder(tmp_path).glob("*.h5"):
        with h5py.File(path) as file:
            assert len(file["a"]) == len(file["b"])


def test_compressed_rows_stay_compressed_and_whole(
    tmp_path: Path, arrived: Callable[..., Any]
) -> None:
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        writer.dataset("x", dtype="<i8", shape=(4,), compression="gzip", chunk_rows=64)
        for turn in range(10):
            writer.append("x", np.full((50, 4), turn))
    with compactor(tmp_path) as one:
        one.drain()
    assert (arrived(tmp_path)["worker-0.0001"]["x"][:, 0] == np.repeat(np.arange(10), 50)).all()
    with h5py.File(central_folder(tmp_path) / "000001.h5") as file:
        assert file["x"].compression == "gzip"


def test_the_second_compactor_hears_who_is_the_first(tmp_path: Path) -> None:
    with compactor(tmp_path), pytest.raises(rows.Held) as told:
        compactor(tmp_path)
    assert told.value.pid == os.getpid()
    assert told.value.host
    assert told.value.since
    compactor(tmp_path).close()


def test_a_torn_tail_is_no_row_and_what_is_behind_damage_is_kept(tmp_path: Path) -> None:
    folders = []
    for number in range(2):
        with rows.open(tmp_path, task=f"worker:{number}", way="central") as writer:
            for turn in range(10):
                writer.append("x", np.full(5, turn))
            folders.append(writer.folder)
    torn, damaged = (folder / "000001.log" for folder in folders)
    size = torn.stat().st_size
    os.truncate(torn, size - 90)  # its end, and a part of its last row
    content = bytearray(damaged.read_bytes())
    content[size // 2] ^= 1
    damaged.write_bytes(content)
    said: list[str] = []
    with compactor(tmp_path, said) as one:
        one.drain()
    counts = published(tmp_path).positions
    assert counts[torn.parent.name].rows["x"] == 45
    assert counts[damaged.parent.name].rows["x"] < 45
    assert not torn.exists()
    assert damaged.exists()
    assert any("damaged" in text and "rescue" in text for text in said)


def test_rows_of_another_kind_are_refused_where_they_are_declared(tmp_path: Path) -> None:
    with rows.open(tmp_path, task="worker:0", way="central") as first:
        first.append("a/x", np.zeros((2, 3), "<f4"))
        with rows.open(tmp_path, task="worker:1", way="central") as second:
            with pytest.raises(rows.Refused, match="worker:0"):
                second.append("a/x", np.zeros((2, 3), "<f8"))
            with pytest.raises(rows.Refused, match="below"):
                second.append("a", np.zeros(2))
            second.append("a/x", np.zeros((2, 3), "<f4"))


def test_the_logs_of_a_source_that_is_left_out_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rows.open(tmp_path, task="worker:0", way="central") as first:
        first.append("x", np.zeros(5, "<f4"))
    monkeypatch.setattr(central_schema, "agree", lambda *_, **__: None)  # as if its file was lost
    with rows.open(tmp_path, task="worker:1", way="central", log_bytes_max=4000) as other:
        for _ in range(50):
            other.append("x", np.zeros(100, "<f8"))
    logs = {path: path.read_bytes() for path in other.folder.glob("*.log")}
    assert len(logs) > 5
    said: list[str] = []
    with compactor(tmp_path, said) as one:
        one.drain()
    assert any("left out" in text for text in said)
    assert published(tmp_path).rows == {"x": 5}
    assert {path: path.read_bytes() for path in other.folder.glob("*.log")} == logs


def test_a_stopped_compactor_blocks_nobody_before_the_backlog_is_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, judge: Callable[..., Any]
) -> None:
    with rows.central(tmp_path, age_s=0.1) as center:
        os.kill(center.pid, signal.SIGSTOP)
        try:
            writer = rows.open(
                tmp_path, task="worker:0", way="central", log_bytes_max=10_000,
                backlog_bytes_max=100_000, backlog_wait_s=0.3,
            )  # fmt: skip
            written = 0
            with pytest.raises(rows.Unwritable, match="holdfast rows serve"):  # noqa: PT012
                while True:
                    writer.append("x", np.zeros(100))
                    written += 1
            assert 100_000 < written * 840 < 120_000
            assert sum("wait to be taken over" in text for text in caplog.messages) == 1
        finally:
            os.kill(center.pid, signal.SIGCONT)
        until(lambda: not list(writer.folder.glob("00000[1-5].log")))
        writer.append("x", np.zeros(100))
        writer.close()
        center.flush()
    assert published(tmp_path).rows["x"] == 100 * (written + 1)


def test_whoever_is_killed_nothing_acknowledged_is_lost_or_doubled(
    tmp_path: Path, feed: Callable[..., Any], judge: Callable[..., Any]
) -> None:
    chance = random.Random(6)
    logdir = tmp_path / "logdir"
    with rows.central(logdir, age_s=0.05, segment_bytes=1 << 18) as center:
        slowly = ("--pause-s", "0.002")
        workers = [feed(logdir, f"worker:{number}", *slowly) for number in range(2)]
        killed: set[int] = set()
        for turn in range(6):
            until(lambda: child_pid(logdir) not in {None, *killed})
            until(partial(_has_grown, logdir, published(logdir).segment))
            time.sleep(chance.uniform(0, 0.1))
            pid = child_pid(logdir)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
            if turn % 3 == 2:
                workers[turn // 3].kill()
                workers[turn // 3].wait()
                workers.append(feed(logdir, f"worker:{turn // 3}", *slowly))
        for worker in workers:
            worker.kill()
            worker.wait()
        center.flush()
    found = judge(logdir)
    assert len(found) >= 2
    # The logs of the dead are taken over to their last whole row, and go.
    with compactor(logdir) as last:
        last.drain()
    assert not list(logdir.glob("rows/worker-*/*.log"))
    judge(logdir)


def test_the_end_publishes_what_is_there_even_if_the_compactor_was_just_killed(
    tmp_path: Path,
) -> None:
    with rows.central(tmp_path, age_s=100.0) as center:
        with rows.open(tmp_path, task="worker:0", way="central") as writer:
            writer.append("x", np.arange(10))
        os.kill(center.pid, signal.SIGKILL)
    assert published(tmp_path).rows == {"x": 10}


def test_large_and_small_pieces_arrive_whole_and_verify(
    tmp_path: Path, arrived: Callable[..., Any]
) -> None:
    chance = np.random.default_rng(5)
    counts = (20_000, 3, 700_000, 1, 900, 60_000, 2, 62_000)
    sent = [chance.random((rows_at_once, 8)) for rows_at_once in counts]
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        for batch in sent:
            writer.append("x", batch)
    with compactor(tmp_path) as one:
        one.drain()
    assert (arrived(tmp_path)["worker-0.0001"]["x"] == np.concatenate(sent)).all()
    found = list(verify(tmp_path))
    assert found
    assert not [part.wrong for part in found if part.wrong]


@pytest.mark.parametrize("place", [-1, -40_000])
def test_a_large_piece_is_compared_even_if_its_log_was_begun_before_our_eyes(
    tmp_path: Path, place: int
) -> None:
    said: list[str] = []
    with compactor(tmp_path, said) as one:
        with rows.open(tmp_path, task="worker:0", way="central") as writer:
            writer.append("x", np.zeros((9, 10_000)))
            (log,) = writer.folder.glob("*.log")
            at = log.stat().st_size + place
            writer.append("x", np.ones((9, 10_000)))
        with log.open("r+b") as file:
            file.seek(at)
            file.write(b"\1")
        one.drain()
    assert published(tmp_path).rows.get("x", 0) == 0
    assert log.exists()
    assert any("checksum differs" in text for text in said)


def test_no_segment_counts_without_the_one_before_it(
    tmp_path: Path, arrived: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = np.arange(4000.0)
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        for batch in np.split(sent, 40):
            writer.append("x", batch)
    one = compactor(tmp_path, segment_bytes=4096)
    really, calls = os.fsync, []

    def fail_once_more_wait(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            until(lambda: len(one._unpublished) > 1)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        really(fd)

    with monkeypatch.context() as patched, one:
        patched.setattr(os, "fsync", fail_once_more_wait)
        with pytest.raises(rows.RowsError, match="No space left"):
            one.drain()
    assert not list(central_folder(tmp_path).glob("*.h5"))
    with compactor(tmp_path) as again:
        again.drain()
    assert (arrived(tmp_path)["worker-0.0001"]["x"] == sent).all()


def test_many_datasets_need_few_files(tmp_path: Path) -> None:
    """All rows of a segment go through the same file, however many datasets it has."""
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        writer.append_many({f"metrics/{number}": float(number) for number in range(300)})
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 60, limits[1]))  # noqa: PTH208
    try:
        with Compactor(tmp_path, warn=pytest.fail) as compactor:
            compactor.drain()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert published(tmp_path).rows["metrics/299"] == 1
