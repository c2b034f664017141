"""Bounded logs: old output goes back to the disk, the newest stays, and the journal counts it."""

import signal
import sys
import time
from typing import Any

import pytest

from holdfast.model.facts import OutputReleased

pytestmark = pytest.mark.timeout(60)
Start = Any
KEEP_BYTES = 1 << 20
LINES, LINE_BYTES = 400, 98_000

# Forty megabytes, a little at a time: a line is its number, written over and over. Where the reader
# gets no core for a while, it is waited for: in vain, if nothing is ever released.
FLOOD = f"""
import os, sys, time
for number in range({LINES}):
    while os.fstat(1).st_blocks * 512 > {LINES * LINE_BYTES // 3}:
        time.sleep(0.01)
    line = (f"{{number:06}} " * ({LINE_BYTES} // 7))[: {LINE_BYTES} - 1]
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
    time.sleep(0.003)
"""


def line_of(number: int) -> bytes:
    return (f"{number:06} " * (LINE_BYTES // 7)).encode()[: LINE_BYTES - 1] + b"\n"


def test_a_flood_takes_bounded_room_and_its_end_stays(start: Start) -> None:
    job = start("--keep-bytes", "1M", "--", sys.executable, "-c", FLOOD)
    job.until_says("worker:0", b"000000")
    path = job.run_dir / "logs" / "worker-0.1.out"
    largest = 0
    while job.front.poll() is None:
        largest = max(largest, path.stat().st_blocks * 512)
        time.sleep(0.01)
    assert job.wait() == 0
    total = LINES * LINE_BYTES
    assert path.stat().st_size == total
    assert largest < total / 2
    assert path.stat().st_blocks * 512 < 2 * KEEP_BYTES
    with path.open("rb") as log:
        log.seek(total - KEEP_BYTES)
        newest = b"".join(line_of(number) for number in range(LINES - 12, LINES))
        assert log.read() == newest[-KEEP_BYTES:]
    released = job.facts(OutputReleased)
    assert {(str(fact.task), fact.stream) for fact in released} == {("worker:0", "out")}
    assert sum(fact.bytes_released for fact in released) == released[-1].until
    assert total - 2 * KEEP_BYTES < released[-1].until <= total - KEEP_BYTES
    assert "\\x00" not in job.out, "what was released is not shown as zeros"
    job.nothing_is_left()


def test_a_front_that_comes_late_passes_over_what_was_released(start: Start) -> None:
    """Stopped while its log was cut, it goes on with the first whole line that is still there."""
    job = start("--keep-bytes", "64K", "--", sys.executable, "-c", FLOOD)
    job.until_says("worker:0", b"000000")
    job.front.send_signal(signal.SIGSTOP)
    last = b"%06d" % (LINES - 1)
    job.until_says("worker:0", last)
    job.until_fact(OutputReleased)
    job.front.send_signal(signal.SIGCONT)
    assert job.wait() == 0
    assert "\\x00" not in job.out
    assert "not shown here; see logs/worker-0.1.out" in job.out
    shown = [line.partition(" │ ")[2] for line in job.out.splitlines() if " │ 0" in line]
    assert all(len(set(line.partition("…")[0].split()[:-1])) <= 1 for line in shown)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ("1000", "keeping only 1000 bytes of output would lose the evidence"),
        ("0", "keeping only 0 bytes of output would lose the evidence"),
        ("lots", "'lots' is not a size in bytes"),
        ("-5M", "'-5M' is not a size in bytes"),
        ("1.5G", "'1.5G' is not a size in bytes"),
    ],
)
def test_a_size_that_cannot_be_is_refused(holdfast: Any, size: str, sentence: str) -> None:
    tried = holdfast("run", "--keep-bytes", size, "--", "true")
    assert tried.returncode == 2
    assert tried.stderr.startswith(f"error: {sentence}")
    assert "try: " in tried.stderr
