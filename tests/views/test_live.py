"""The live view on real terminals and real pipes, also those that stop taking bytes."""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import tracemalloc
import tty
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from holdfast.views.live import LINES_QUEUED_MAX, Screen, TaskMark, status_text
from holdfast.views.sanitise import cells

WAIT_S = 10.0
NOTICE = re.compile(r"… ([\d,]+) lines? (?:was|were) not shown here; all of them are in logs/")


class Terminal:
    """The far end of a pseudo-terminal: what a person would see."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.seen = b""

    def read(self, *, wait_s: float = 0.0) -> bytes:
        """Whatever comes next, or nothing."""
        if not select.select([self.master], [], [], wait_s)[0]:
            return b""
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return b""
        self.seen += got
        return got

    def read_until(self, done: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while not done() and time.monotonic() < deadline_s:
            self.read(wait_s=0.05)
        assert done()

    def drain(self) -> None:
        while self.read(wait_s=0.1):
            pass

    def close(self) -> None:
        for fd in (self.master, self.slave):
            try:
                os.close(fd)
            except OSError:
                continue


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with closing(Terminal()) as opened:
        yield opened


@contextmanager
def screen_on(fd: int, *, is_tty: bool, colour: bool = False) -> Iterator[Screen]:
    screen = Screen(fd, width=80, colour=colour, is_tty=is_tty, tasks=("ps:0", "worker:0"))
    try:
        yield screen
    finally:
        screen.close(0.0)
        assert not screen._thread.is_alive()


def notices(text: str) -> int:
    return sum(int(count.replace(",", "")) for count in NOTICE.findall(text))


def test_lines_stand_behind_their_tasks_aligned(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("ps:0", ["one", "[bold]two[/bold]"])
        screen.show("worker:0", ["three"])
        screen.say(["ours"])
        assert screen.close(WAIT_S) == 0
        terminal.drain()
    assert terminal.seen.decode() == (
        "ps:0     │ one\nps:0     │ [bold]two[/bold]\nworker:0 │ three\nours\n"
    )
    assert screen.lines_shown == 4


def test_a_task_keeps_its_colour(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True, colour=True) as screen:
        for task in ("ps:0", "worker:0", "ps:0", "evaluator:0", "ps:0"):
            screen.show(task, ["x"])
        screen.close(WAIT_S)
        terminal.drain()
    codes = re.findall(r"\x1b\[(\d+)m(\S+) ", terminal.seen.decode())
    assert len({code for code, task in codes if task == "ps:0"}) == 1
    assert len({code for code, _ in codes}) == 3


def test_hostile_text_never_reaches_the_terminal(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("worker:0\x1b[2J", ["\x1b]0;owned\x07a\x9b2Jb\u202e\r\nc\x00"])
        screen.say(["\x1bc"])
        screen.set_status("\x1b[31mstatus")
        terminal.read_until(lambda: b"status" in terminal.seen)
    body = terminal.seen.replace(b"\r\x1b[K", b"").decode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", body)


def test_the_status_line_stays_below_and_is_cleared(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.set_status("ps:0 ● · 00:01 " + "x" * 200)
        terminal.read_until(lambda: "…".encode() in terminal.seen)
        assert len(terminal.seen.decode()) == 79
        screen.show("ps:0", ["hello"])
        terminal.read_until(lambda: terminal.seen.count("…".encode()) == 2)
        screen.close(WAIT_S)
        terminal.drain()
    rows = terminal.seen.decode().split("\r\x1b[K")
    assert rows[1].startswith("ps:0     │ hello\nps:0 ● · 00:01")
    assert rows[-1] == ""


def test_a_pipe_gets_no_status_line() -> None:
    reader, writer = os.pipe()
    with screen_on(writer, is_tty=False) as screen:
        screen.set_status("ps:0 ●")
        screen.show("ps:0", ["x"])
        screen.close(WAIT_S)
    assert os.read(reader, 100).decode() == "ps:0     │ x\n"
    os.close(reader)
    os.close(writer)


def test_status_text_keeps_its_clock() -> None:
    marks = [TaskMark(task="ps:0"), TaskMark(task="worker:0", mark="✗", words="SIGKILL")]
    assert status_text(marks, elapsed_s=42.9, width=80) == "ps:0 ● worker:0 ✗ SIGKILL · 00:42"
    assert status_text(marks, elapsed_s=3661, width=20) == "worker:0 … · 1:01:01"


STILL = [TaskMark(task="worker:0", mark="!", words="keeps-waiting"), TaskMark(task="worker:1")]
NEWS = "notice: worker:1 waits for worker:0 since 6 s: it is in evaluate (train.py:88), computing"


@pytest.mark.parametrize(
    ("width", "rest"),
    [
        (44, ""),
        (50, ""),
        (62, " · Ctrl-C to stop"),
        (100, " · notice: worker:1 waits for worker:0 since 6 s: it is …"),
        (136, f" · {NEWS}"),
        (160, f" · {NEWS} · Ctrl-C to stop"),
    ],
)
def test_the_news_stand_at_the_end_where_they_have_room(width: int, rest: str) -> None:
    shown = status_text(STILL, elapsed_s=42, width=width, words="Ctrl-C to stop", news=NEWS)
    assert shown == f"worker:0 ! keeps-waiting worker:1 ● · 00:42{rest}"
    assert cells(shown) <= width


def test_a_finding_is_painted_by_how_grave_it_is(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True, colour=True) as screen:
        screen.say(["notice: a", "warning[x]: b", "error[y]: c", "error taken back after 3 s: d"])
        screen.say(["taken back after 3 s: e", "terror: f", "error"])
        screen.close(WAIT_S)
        terminal.drain()
    assert terminal.seen.decode().splitlines() == [
        "\x1b[1;36mnotice\x1b[0m: a",
        "\x1b[1;33mwarning[x]\x1b[0m: b",
        "\x1b[1;31merror[y]\x1b[0m: c",
        "\x1b[1;32merror taken back after 3 s\x1b[0m: d",
        "\x1b[1;32mtaken back after 3 s\x1b[0m: e",
        "terror: f",
        "error",
    ]


def test_a_stopped_terminal_never_blocks_and_owns_up_later(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("ps:0", ["before"])
        terminal.read_until(lambda: b"before" in terminal.seen)
        termios.tcflow(terminal.slave, termios.TCOOFF)
        # A call that blocked would never come back: nobody lets the terminal go on before.
        until_s, count = time.monotonic() + 2.0, 0
        while time.monotonic() < until_s or count < 2 * LINES_QUEUED_MAX:
            screen.show("ps:0", [f"line {count + number}" for number in range(100)])
            count += 100
        assert screen.lines_not_shown >= count - LINES_QUEUED_MAX - 2000
        termios.tcflow(terminal.slave, termios.TCOON)
        terminal.read_until(lambda: b"not shown here" in terminal.seen)
        screen.show("ps:0", ["after"])
        terminal.read_until(lambda: b"after\n" in terminal.seen)
    text = terminal.seen.decode()
    shown = len(re.findall(r"line \d+\n", text))
    assert notices(text) == screen.lines_not_shown
    assert shown + screen.lines_not_shown == count
    assert text.index("not shown here") < text.index("after")


def test_ctrl_s_by_the_person_stops_and_resumes(terminal: Terminal) -> None:
    settings = termios.tcgetattr(terminal.slave)
    settings[0] |= termios.IXON
    termios.tcsetattr(terminal.slave, termios.TCSANOW, settings)
    with screen_on(terminal.slave, is_tty=True) as screen:
        os.write(terminal.master, b"\x13")
        deadline_s = time.monotonic() + WAIT_S
        while select.select([], [terminal.slave], [], 0)[1]:  # the kernel takes the key later
            assert time.monotonic() < deadline_s
        screen.show("ps:0", ["held back"])
        assert terminal.read(wait_s=0.3) == b""
        os.write(terminal.master, b"\x11")
        terminal.read_until(lambda: b"held back\n" in terminal.seen)


def test_close_ends_while_the_terminal_stays_stopped(terminal: Terminal) -> None:
    termios.tcflow(terminal.slave, termios.TCOOFF)
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("ps:0", ["never seen"] * 10)
        began_s = time.monotonic()
        assert screen.close(0.3) == 10
        assert 0.2 < time.monotonic() - began_s < 1.0


def test_the_shells_own_terminal_stays_blocking(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("ps:0", ["x"])
        terminal.read_until(lambda: b"x" in terminal.seen)
        assert os.get_blocking(terminal.slave)
    assert os.get_blocking(terminal.slave)


def test_a_flood_on_a_slow_terminal_is_shown_or_counted(terminal: Terminal) -> None:
    batch = [f"line {'y' * 60}"] * 200
    tracemalloc.start()
    with screen_on(terminal.slave, is_tty=True) as screen:
        for number in range(1000):
            screen.show("worker:0", batch)
            if number % 10 == 0:
                terminal.read()
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        closer = threading.Thread(target=screen.close, args=(WAIT_S,))
        closer.start()
        terminal.read_until(lambda: not closer.is_alive())
        closer.join()
        terminal.drain()
    text = terminal.seen.decode()
    assert peak_bytes < 8 << 20
    assert text.count("line yyy") == screen.lines_shown
    assert screen.lines_shown + screen.lines_not_shown == 200_000
    assert notices(text) == screen.lines_not_shown


def test_a_pipe_loses_nothing_however_slow_its_reader() -> None:
    reader, writer = os.pipe()
    got: list[bytes] = []

    def read_slowly() -> None:
        while piece := os.read(reader, 3000):
            got.append(piece)

    slow = threading.Thread(target=read_slowly)
    with screen_on(writer, is_tty=False) as screen:
        count = 0
        while screen.has_room(100):
            screen.show("ps:0", [f"line {count + number}" for number in range(100)])
            count += 100
        slow.start()
        screen.show("ps:0", [f"line {number}" for number in range(count, 50_000)])
        assert screen.close(WAIT_S) == 0
    os.close(writer)
    slow.join()
    os.close(reader)
    assert re.findall(r"line (\d+)\n", b"".join(got).decode()) == [str(n) for n in range(50_000)]


def test_close_ends_while_nobody_reads_the_pipe() -> None:
    reader, writer = os.pipe()
    with screen_on(writer, is_tty=False) as screen:
        stuck = threading.Thread(target=screen.show, args=("ps:0", ["x" * 100] * 20_000))
        stuck.start()
        began_s = time.monotonic()
        screen.close(0.3)
        assert time.monotonic() - began_s < 1.0
        stuck.join(WAIT_S)
        assert not stuck.is_alive()
    assert screen.lines_shown + screen.lines_not_shown == 20_000
    os.close(reader)
    os.close(writer)


def test_a_closed_pipe_ends_the_writing_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with screen_on(writer, is_tty=False) as screen:
        screen.show("ps:0", ["x"] * 10_000)
        assert screen.close(WAIT_S) == 10_000
        assert screen.gone == "Broken pipe"
    os.close(writer)


def test_a_terminal_that_goes_away_ends_the_writing_quietly(terminal: Terminal) -> None:
    with screen_on(terminal.slave, is_tty=True) as screen:
        screen.show("ps:0", ["x"])
        terminal.read_until(lambda: b"x" in terminal.seen)
        os.close(terminal.master)
        screen.show("ps:0", ["y"] * 3)
        assert screen.close(WAIT_S) == 3
        assert screen.gone


def test_a_socket_that_nobody_reads_does_not_hold_us() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, screen_on(ours.fileno(), is_tty=True) as screen:
        screen.show("ps:0", ["x" * 1000] * 3000)
        assert screen.close(0.3) > 0
        assert ours.getblocking()


def test_a_file_is_appended_to_where_it_stands(tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "out")  # noqa: PTH118
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(fd, b"earlier\n")
    with screen_on(fd, is_tty=False) as screen:
        screen.say(["later"])
        screen.close(WAIT_S)
    assert os.pread(fd, 100, 0) == b"earlier\nlater\n"
    os.close(fd)


@pytest.mark.parametrize(
    "ending", ["raise SystemExit(7)", "screen.close(0.2); raise SystemExit(7)"]
)
def test_a_process_on_a_stopped_terminal_still_ends(terminal: Terminal, ending: str) -> None:
    program = (
        "from holdfast.views.live import Screen\n"
        "screen = Screen(1, width=80, colour=False, is_tty=True)\n"
        f"screen.show('ps:0', ['x' * 100] * 9000)\n{ending}\n"
    )
    termios.tcflow(terminal.slave, termios.TCOOFF)
    with subprocess.Popen([sys.executable, "-c", program], stdout=terminal.slave) as process:
        try:
            assert process.wait(WAIT_S) == 7
        finally:
            process.send_signal(signal.SIGKILL)
