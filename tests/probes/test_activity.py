"""What real processes are doing, by what the kernel tells of them."""

import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.model.activity_facts import ProcessActivity
from holdfast.probes.activity import PROCESSES_MAX, Surroundings, activities, take_sample
from holdfast.probes.activity.calls import Call, call_in, does_in
from holdfast.probes.activity.surroundings import holder_in
from holdfast.probes.process import children_by_parent, offspring

WAIT_S = 20.0
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """A Python process, or any; ended with all that it started."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(code: str, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", code, *words]
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def look(pid: int, *, over_s: float = 0.05) -> tuple[ProcessActivity, ...]:
    before = take_sample(family(pid)[0])
    time.sleep(over_s)
    pids, around = family(pid)
    return activities(before, take_sample(pids), around)


def family(pid: int) -> tuple[list[int], Surroundings]:
    children = children_by_parent()
    around = Surroundings({parent: [one.pid for one in born] for parent, born in children.items()})
    return [pid, *(one.pid for one in offspring(pid, children))], around


def until_does(
    pid: int, does: str, *, of: int = 0, on: str = "", over_s: float = 0.05
) -> ProcessActivity:
    """The process, or one below it, as soon as it does that: programs need a while to get there.

    By the second look that finds it so: the first may have come between a child and its parent.
    """
    end_s = time.monotonic() + WAIT_S
    found = 0
    while True:
        seen = look(pid, over_s=over_s)
        does_so = len(seen) > of and seen[of].does == does and on in seen[of].on
        found = found + 1 if does_so else 0
        if found > 1:
            return seen[of]
        assert time.monotonic() < end_s, seen


def test_who_sleeps_and_who_computes(start: Start) -> None:
    asleep = start("import time; time.sleep(600)")
    busy = start("while True: pass")
    seen = until_does(asleep.pid, "sleeps")
    assert (seen.pid, seen.parent, seen.state) == (asleep.pid, os.getpid(), "S")
    assert seen.call == "clock_nanosleep"
    assert "nanosleep" in seen.waits_in
    assert seen.cores < 0.2
    seen = until_does(busy.pid, "computes", over_s=0.3)
    assert seen.main_cores + seen.starved_share > 0.3
    assert abs(seen.main_cores - seen.cores) < 0.2
    assert seen.moved_bytes == 0


def test_main_waits_for_a_thread_that_computes(start: Start) -> None:
    code = (
        "import threading\ndef f():\n  while True: pass\nt = threading.Thread(target=f)\nt.start()"
    )
    seen = until_does(start(f"{code}\nt.join()").pid, "waits-for-thread", over_s=0.3)
    assert seen.call == "futex"
    assert seen.cores > seen.main_cores + 0.1


def test_a_lock_that_other_processes_may_hold(start: Start) -> None:
    code = "import multiprocessing as m; s = m.get_context('fork').Semaphore(0); s.acquire()"
    assert "shared" in until_does(start(code).pid, "waits-for-lock").on


def test_who_joins_a_native_thread_waits_for_a_thread(start: Start) -> None:
    code = """
import ctypes
c = ctypes.CDLL(None)
thread = ctypes.c_void_p()
c.pthread_create(ctypes.byref(thread), None, ctypes.cast(c.pause, ctypes.c_void_p), None)
c.pthread_join(thread, None)
"""
    until_does(start(code).pid, "waits-for-thread")


def test_a_child_of_a_child_is_seen_with_its_command_line(start: Start) -> None:
    process = start("import subprocess; subprocess.run(['sh', '-c', 'sleep 1234; true'])")
    leaf = until_does(process.pid, "sleeps", of=2)
    first, second, third = look(process.pid)
    assert (third.pid, third.parent, third.command) == (leaf.pid, second.pid, "sleep 1234")
    assert (first.does, second.does) == ("waits-for-child", "waits-for-child")
    assert first.on == f"pid {second.pid} (sh -c sleep 1234; true)"
    assert second.on == f"pid {leaf.pid} (sleep 1234)"


def test_a_child_that_was_stopped(start: Start) -> None:
    process = start("import subprocess; subprocess.run(['sleep', '1235'])")
    child = until_does(process.pid, "sleeps", of=1)
    os.kill(child.pid, signal.SIGSTOP)
    assert until_does(process.pid, "stopped", of=1).state == "T"


def test_a_child_that_nobody_buries_is_gone(start: Start) -> None:
    process = start("import os, time\nif os.fork():\n  time.sleep(600)")
    gone = until_does(process.pid, "gone", of=1)
    assert gone.state == "Z"
    assert gone.command.startswith("[")
    assert gone.on == ""


def test_how_a_child_ended_that_nobody_buries(start: Start) -> None:
    process = start("import os, time\nif os.fork():\n  time.sleep(600)\ntime.sleep(600)")
    child = until_does(process.pid, "sleeps", of=1)
    os.kill(child.pid, signal.SIGKILL)
    assert until_does(process.pid, "gone", of=1).on == "killed by SIGKILL"
    failed = start("import os, time\nif os.fork():\n  time.sleep(600)\nos._exit(3)")
    assert until_does(failed.pid, "gone", of=1).on == "exit code 3"


def test_the_lock_of_a_file_and_who_holds_it(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    wants = f"import fcntl; f = open({str(path)!r}, 'w'); fcntl"
    for take, way in ((fcntl.flock, "flock(f, 2)"), (fcntl.lockf, "lockf(f, 2)")):
        with path.open("w") as file:
            take(file, fcntl.LOCK_EX)
            seen = until_does(start(f"{wants}.{way}").pid, "waits-for-lock")
            assert seen.on == str(path)
            assert seen.holder.startswith(f"pid {os.getpid()} (")


def test_of_a_holder_that_is_gone_who_inherited_the_file(start: Start, tmp_path: Path) -> None:
    code = f"""
import fcntl, os, time
path = {str(tmp_path / "lock")!r}
inherited = open(path, "w")
if os.fork() == 0:
    fcntl.flock(inherited, 2)
    os._exit(0)
os.wait()
if os.fork() == 0:
    time.sleep(600)
inherited.close()
fcntl.flock(open(path, "w"), 2)
"""
    process = start(code)
    seen = until_does(process.pid, "waits-for-lock")
    child = look(process.pid)[1]
    assert seen.holder.startswith(f"pid {child.pid} (")


def test_a_pipe_that_is_full_and_who_should_read_it(start: Start) -> None:
    code = """
import subprocess
child = subprocess.Popen(["sleep", "1236"], stdin=subprocess.PIPE)
child.stdin.write(bytes(1 << 20))
"""
    seen = until_does(start(code).pid, "writes")
    assert seen.on == "a pipe that nobody empties"
    assert seen.holder.endswith("(sleep 1236)")


def test_a_pipe_that_is_empty_and_who_should_write_it(start: Start) -> None:
    code = "import subprocess; subprocess.check_output(['sleep', '1237'])"
    seen = until_does(start(code).pid, "reads")
    assert seen.on == "a pipe"
    assert seen.holder.endswith("(sleep 1237)")


def test_a_pipe_to_itself_is_its_own(start: Start) -> None:
    process = start("import os; os.read(os.pipe()[0], 1)")
    assert until_does(process.pid, "reads").holder.startswith(f"pid {process.pid} (")


def test_a_fifo_that_nobody_opens_and_one_that_nobody_writes(start: Start, tmp_path: Path) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    process = start(f"open({fifo!r}).read()")
    assert until_does(process.pid, "reads").on == "a FIFO whose other end nobody opens"
    with open(fifo, "wb"):  # noqa: PTH123
        seen = until_does(process.pid, "reads", on="fifo")
        assert seen.on == f"the FIFO {fifo}"
        assert seen.holder.startswith(f"pid {os.getpid()} (")


def test_a_socket_and_its_peer(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket; s = socket.create_connection(('127.0.0.1', {port}))"
        seen = until_does(start(f"{connect}; s.recv(1)").pid, "waits-for-socket")
        assert seen.on == f"127.0.0.1:{port}"
        process = start(f"{connect}; s.sendall(bytes(1 << 26))")
        assert until_does(process.pid, "writes").on == f"127.0.0.1:{port}"


def test_who_accepts_listens(start: Start) -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()"
    seen = until_does(start(code).pid, "waits-for-socket")
    assert seen.on.startswith("listens on 127.0.0.1:")
    code = "import socket; s = socket.socketpair(); s[0].recv(1)"
    assert until_does(start(code).pid, "waits-for-socket").on == "a local socket"


def test_standard_input(start: Start) -> None:
    mine, terminal = pty.openpty()
    process = start("input()", stdin=terminal)
    assert until_does(process.pid, "reads").on == "its standard input (a terminal)"
    os.close(mine)
    os.close(terminal)
    seen = until_does(start("input()", stdin=subprocess.PIPE).pid, "reads")
    assert seen.on == "its standard input (a pipe)"
    assert seen.holder.startswith(f"pid {os.getpid()} (")


def test_who_polls_and_who_waits_for_a_signal(start: Start) -> None:
    poll = "import select, os; p = select.poll(); p.register(os.pipe()[0]); p.poll()"
    assert until_does(start(poll).pid, "polls").call in {"poll", "ppoll"}
    until_does(start("import select; select.select([], [], [])").pid, "sleeps")
    assert until_does(start("import signal; signal.pause()").pid, "sleeps").on == "a signal"


def test_secrets_in_a_command_line_are_not_told(start: Start) -> None:
    code = "import time; time.sleep(600)"
    process = start(code, "--token=s3cretvalue", "--api-key", "0ther-secret", "a\nb\x1b[2J")
    (seen,) = look(process.pid)
    assert "s3cret" not in seen.command
    assert "0ther" not in seen.command
    assert "redacted" in seen.command
    assert seen.command.isprintable()
    (seen,) = look(start(code, "x" * 5_000).pid)
    assert len(seen.command) == 160


def test_bytes_that_were_moved_are_counted(start: Start) -> None:
    code = "import time\nwhile True:\n  open('/dev/zero', 'rb').read(10_000)\n  time.sleep(0.01)"
    process = start(code)
    end_s = time.monotonic() + WAIT_S
    while look(process.pid, over_s=0.2)[0].moved_bytes < 20_000:
        assert time.monotonic() < end_s


def test_there_are_only_so_many_and_looks_are_cheap(start: Start) -> None:
    code = "import os, time\nfor _ in range(12):\n  if not os.fork(): break\ntime.sleep(600)"
    process = start(code)
    end_s = time.monotonic() + WAIT_S
    while len(look(process.pid)) < PROCESSES_MAX:
        assert time.monotonic() < end_s
    pids, around = family(process.pid)
    began_s = time.process_time()
    before = take_sample(pids)
    assert len(activities(before, take_sample(pids), around)) == PROCESSES_MAX
    assert time.process_time() - began_s < 0.05


def test_of_who_is_gone_nothing_is_told(start: Start) -> None:
    process = start("pass")
    process.wait()
    assert look(process.pid) == ()


def test_calls_by_machine() -> None:
    assert call_in("running").is_running
    assert call_in("202 0x1 0x189 0x0 0x0 0x0 0x0 0x7f 0x7f", "x86_64").name == "futex"
    assert call_in("98 0x1 0x80", "aarch64") == Call("futex", (1, 0x80))
    assert call_in("98 0x1 0x80", "riscv64") == Call()
    assert call_in("-1 0x0 0x0") == Call()
    assert call_in("") == Call()
    waits = call_in("61 0xffffffffffffffff 0x0", "x86_64")
    assert (waits.argument(0), waits.argument(5)) == (-1, 0)


@pytest.mark.parametrize(
    ("channel", "does"),
    [
        ("futex_do_wait", "waits-for-thread"),
        ("do_wait", "waits-for-child"),
        ("hrtimer_nanosleep", "sleeps"),
        ("anon_pipe_read", "reads"),
        ("wait_for_partner", "reads"),
        ("pipe_write", "writes"),
        ("do_sys_poll", "polls"),
        ("ep_poll", "polls"),
        ("inet_csk_accept", "waits-for-socket"),
        ("unix_stream_read_generic", "waits-for-socket"),
        ("locks_lock_inode_wait", "waits-for-lock"),
        ("request_wait_answer", "disk"),
        ("something_new", ""),
        ("", ""),
    ],
)
def test_what_the_kernel_waits_in_tells_where_the_call_does_not(channel: str, does: str) -> None:
    assert does_in(channel) == does


def test_the_table_of_locks() -> None:
    locks = [
        "1: POSIX  ADVISORY  WRITE 12 fe:00:99 0 EOF",
        "2: FLOCK  ADVISORY  WRITE 40 fe:00:15 0 EOF",
        "2: -> FLOCK  ADVISORY  WRITE 41 fe:00:15 0 EOF",
        "2: -> FLOCK  ADVISORY  WRITE 42 fe:00:15 0 EOF",
        "3: OFDLCK ADVISORY  WRITE -1 fe:00:16 0 EOF",
        "3: -> OFDLCK ADVISORY  WRITE 43 fe:00:16 0 EOF",
        "4: torn",
    ]
    assert holder_in(locks, 41) == ("fe:00:15", 40)
    assert holder_in(locks, 42) == ("fe:00:15", 40)
    assert holder_in(locks, 43) == ("fe:00:16", 0)
    assert holder_in(locks, 12) == ("", 0)
