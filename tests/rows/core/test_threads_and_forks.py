"""Many threads, forks and the end of the interpreter."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.rows.errors import Refused
from holdfast.rows.reading import parts, read_part, sources
from holdfast.rows.sync import GroupSync
from holdfast.rows.writer import Writer

Look = Callable[[Path], dict[str, Any]]
THREADS = 8


@pytest.mark.parametrize("ack", ["process", "disk"])
def test_threads_lose_nothing_and_keep_their_own_order(
    tmp_path: Path, rows_in: Look, ack: Any
) -> None:
    appends = 200 if ack == "process" else 25
    with Writer(tmp_path, task="chief", seal="never", ack=ack, log_bytes_max=20_000) as writer:

        def work(thread: int) -> None:
            for step in range(appends):
                row = np.array([[thread, step]])
                if step % 5:
                    writer.append("x", row)
                else:
                    writer.append_many({"x": row, f"own/{thread}": [step]})
                if step % 50 == 0:
                    writer.flush()

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
    found = rows_in(tmp_path)
    for thread in range(THREADS):
        steps = found["x"][found["x"][:, 0] == thread][:, 1]
        assert steps.tolist() == list(range(appends))
        assert found[f"own/{thread}"].tolist() == list(range(0, appends, 5))


def test_those_who_wait_share_one_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    syncs: list[int] = []

    def slow(fd: int) -> None:
        syncs.append(fd)
        if len(syncs) == 1:
            began.set()
            assert go_on.wait(60)

    monkeypatch.setattr(os, "fdatasync", slow)
    written = 10
    sync = GroupSync(7, lambda: written)
    with ThreadPoolExecutor(THREADS) as pool:
        first = pool.submit(sync.wait, 10)
        assert began.wait(60)
        # Written after the first sync began: that one does not count for them.
        written = 90
        others = [pool.submit(sync.wait, upto) for upto in range(20, 90, 10)]
        go_on.set()
        assert first.result(60)
        assert all(other.result(60) for other in others)
    assert len(syncs) == 2
    assert sync.synced_bytes == 90


def test_a_log_closed_before_its_sync_is_said_so() -> None:
    sync = GroupSync(-1, lambda: 10)
    sync.retire()
    assert not sync.wait(10)


def in_fork(act: Callable[[], None]) -> int:
    """The exit code of a fork that does this."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_must_not_write_into_its_parents_log(tmp_path: Path, rows_in: Look) -> None:
    writer = Writer(tmp_path, task="chief", seal="never")
    writer.append("x", np.zeros(1))

    def act() -> None:
        calls: list[Callable[[], None]] = [
            lambda: writer.append("x", np.ones(1)),
            lambda: writer.append("y", 1.0),
            lambda: writer.dataset("z", dtype="f4"),
            writer.flush,
        ]
        for call in calls:
            with pytest.raises(Refused, match="fork"):
                call()
        writer.close()

    assert in_fork(act) == 0
    writer.append("x", np.full(1, 2.0))
    writer.close()
    assert rows_in(tmp_path)["x"].tolist() == [0.0, 2.0]


def test_a_fork_that_lives_on_does_not_keep_the_log_open(tmp_path: Path) -> None:
    code = """
import os, sys, time
from holdfast.rows.writer import Writer
writer = Writer(sys.argv[1], task="chief", seal="never")
writer.append("x", 1.0)
reading, writing = os.pipe()
if (child := os.fork()) == 0:
    os.write(writing, b"!")
    time.sleep(600)
os.read(reading, 1)
print(child, flush=True)
os.kill(os.getpid(), 9)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        try:
            assert parent.wait(60) == -signal.SIGKILL
            (source,) = sources(tmp_path)
            (part,) = parts(source)
            assert part.is_over
        finally:
            os.kill(child, signal.SIGKILL)
    with read_part(part) as content:
        assert content.tail is None
        assert content.end is None  # type: ignore[union-attr]
        assert [block.rows for block in content.blocks] == [1]


@pytest.mark.parametrize("end", ["", "del writer", "raise SystemExit", "1 / 0"])
def test_a_writer_that_was_not_closed_is_closed_at_exit(tmp_path: Path, end: str) -> None:
    code = f"""
import sys
from holdfast.rows.writer import Writer
writer = Writer(sys.argv[1], task="chief", seal="never")
writer.append("x", 1.0)
{end}
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True)
    (source,) = sources(tmp_path)
    (part,) = parts(source)
    with read_part(part) as content:
        assert content.end == {"rows": {"x": 1}}  # type: ignore[union-attr]


def test_memory_stays_flat(tmp_path: Path) -> None:
    batch = np.zeros((1000, 100), "f4")
    with Writer(tmp_path, task="chief", seal="never", log_bytes_max=4 << 20) as writer:

        def write_and_remove(appends: int) -> int:
            for _ in range(appends):
                writer.append("x", batch)
            for log in sorted(writer.folder.glob("*.log"))[:-1]:
                log.unlink()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before_kib = write_and_remove(50)
        assert max(write_and_remove(50) for _ in range(8)) - before_kib < 8 << 10
