"""Whether a stopped terminal slows the tasks: a flood on a pty, its output held for a while."""

import os
import shutil
import subprocess
import termios
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench.output.account import fault_in, read_account
from bench.output.envs import NotAvailableError
from bench.output.measure import END_S_MAX, READY_S_MAX, end
from bench.output.usage import Usage
from bench.output.ways import Ground, holdfast_command, holdfast_kept

SAMPLE_EVERY_S = 0.01
SPARE_S = 3.0  # the child floods a little longer than it is watched
LINES_MAX = 1 << 40  # time ends the flood


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What happened during a while."""

    mb_a_s: float  # written by the child
    longest_pause_s: float  # without one more byte in the file
    shown_bytes: int  # that came out of the terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    before: Window
    stopped: Window
    after: Window
    peak_bytes: int  # of the largest process of ours
    fault: str

    @property
    def flowing_mb_s(self) -> float:
        return (self.before.mb_a_s + self.after.mb_a_s) / 2


def measure_stop(folder: Path, *, stop_s: float) -> Stop:
    """Flowing for half of `stop_s`, stopped for `stop_s`, flowing again for half of it."""
    seconds = 2 * stop_s + SPARE_S
    ground = Ground(folder=folder, children=1, lines=LINES_MAX, seconds=seconds)
    folder.mkdir(parents=True)
    os.sync()
    master, slave = os.openpty()
    front = subprocess.Popen(
        holdfast_command(ground), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    reader = TerminalReader(master)
    reader.start()
    try:
        with Usage([front.pid]) as usage:
            _wait_for_child(ground)
            usage.sample()
            before, stopped, after = _windows(ground, slave, reader, stop_s)
            front.wait(seconds + END_S_MAX)
        account = read_account(folder, 0)
        if account is None:
            raise NotAvailableError("the flooding child left no account")
        return Stop(
            before=before,
            stopped=stopped,
            after=after,
            peak_bytes=max(used.peak_bytes for used in usage.used.values()),
            fault=fault_in(holdfast_kept(ground, 0), account),
        )
    finally:
        end([front])
        reader.end()
        os.close(slave)
        os.close(master)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_child(ground: Ground) -> None:
    deadline_s = time.monotonic() + READY_S_MAX
    while not (ground.folder / "0.ready").exists():
        if time.monotonic() > deadline_s:
            raise NotAvailableError("the flooding child did not start")
        time.sleep(SAMPLE_EVERY_S)


def _windows(
    ground: Ground, slave: int, reader: "TerminalReader", stop_s: float
) -> tuple[Window, Window, Window]:
    (ground.folder / "go").touch()
    time.sleep(SPARE_S / 2)
    fd = os.open(holdfast_kept(ground, 0), os.O_RDONLY)
    before = _window(fd, reader, stop_s / 2)
    termios.tcflow(slave, termios.TCOOFF)
    stopped = _window(fd, reader, stop_s)
    termios.tcflow(slave, termios.TCOON)
    after = _window(fd, reader, stop_s / 2)
    os.close(fd)
    return before, stopped, after


def _window(fd: int, reader: "TerminalReader", seconds: float) -> Window:
    began_s = grown_s = now_s = time.monotonic()
    first = size = os.fstat(fd).st_size
    shown = reader.bytes_read
    pause_s = 0.0
    while now_s - began_s < seconds:
        time.sleep(SAMPLE_EVERY_S)
        now_s = time.monotonic()
        fresh = os.fstat(fd).st_size
        if fresh != size:
            size, grown_s = fresh, now_s
        pause_s = max(pause_s, now_s - grown_s)
    return Window(
        mb_a_s=(size - first) / 1e6 / (now_s - began_s),
        longest_pause_s=pause_s,
        shown_bytes=reader.bytes_read - shown,
    )


class TerminalReader(threading.Thread):
    """Looks at the terminal: reads all that comes out of it."""

    def __init__(self, master: int) -> None:
        super().__init__()
        self._master = master
        self._over = threading.Event()
        self.bytes_read = 0
        os.set_blocking(master, False)

    def run(self) -> None:
        while not self._over.is_set():
            try:
                self.bytes_read += len(os.read(self._master, 1 << 16))
            except OSError:  # nothing now, or nobody holds the other end
                self._over.wait(SAMPLE_EVERY_S)

    def end(self) -> None:
        self._over.set()
        self.join()
