"""The holder: the parent of the tasks, which starts them and keeps how each one ended.

A supervisor may die and another take over; how a task ended is told by the kernel to its
parent only. So the parent is a process that does nothing else, outlives terminal, front and
supervisor, and writes each start and end to holder.jsonl before it tells them. It imports
little: it lives as long as the training.
"""

import contextlib
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.agent.in_task_env import in_task_env
from holdfast.agent.spawn import adopt_orphans, began_ticks, reap_orphans, spawn
from holdfast.logdir.private_files import open_for_append, write_whole

SOCKET, RECORD = "holder.sock", "holder.jsonl"
HOLD_S = 24 * 3600.0  # how long we wait for a supervisor, once all tasks have ended
SWEEP_S = 0.5  # a flood of orphans must not make us busy
HEAR_BYTES = 65_536
ORDER_BYTES_MAX = 1 << 20
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT)
_ALSO_IGNORED = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTOU, signal.SIGTTIN)
Record = dict[str, Any]


class Supervisor:
    """The connection to whoever holds the job now."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)  # noqa: FBT003 - its only way
        self.connection = connection
        self.unsent = b""
        self._rest = b""

    def hear(self) -> list[bytes] | None:
        """Its orders; None: it is gone, or sends what is none."""
        try:
            heard = self.connection.recv(HEAR_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        *lines, self._rest = (self._rest + heard).split(b"\n")
        return lines if heard and len(self._rest) <= ORDER_BYTES_MAX else None

    def tell(self, record: Record) -> None:
        """As much as it takes now; the rest waits until it reads again."""
        self.unsent += json.dumps(record).encode() + b"\n"
        self.send()

    def send(self) -> None:
        # Whether it is gone is learnt when we read.
        with contextlib.suppress(OSError):
            while self.unsent:
                self.unsent = self.unsent[self.connection.send(self.unsent) :]


class Holder:
    def __init__(self, order: Record, dir_fd: int, first: socket.socket, files_max: int) -> None:
        self._plan = order["plan"]
        self._planned = {one["task"]: one for one in self._plan["tasks"]}
        self._hold_s = float(order.get("hold_s", HOLD_S))
        self._dir_fd = dir_fd
        self._files_max = files_max
        self._supervisor: Supervisor | None = Supervisor(first)
        self._begun: dict[str, Record] = {}  # started or refused
        self._ended: dict[str, Record] = {}
        self._pids: dict[int, str] = {}  # of processes that we have not let go
        self._pidfds: dict[int, int] = {}  # of those that live -> pid
        self._unsaved = b""
        self._record_fd = open_for_append(RECORD, dir_fd=dir_fd)
        self._door = _listen(dir_fd)
        self._woken = _woken_by_children()
        self._orphans_due_s: float | None = None
        self._alone_since_s = time.monotonic()
        self._over = False
        self._poll = select.poll()
        for fd in (self._door.fileno(), self._woken, first.fileno()):
            self._poll.register(fd, select.POLLIN)
        self._about: Record = {
            "is": "holder",
            "pid": os.getpid(),
            "ticks": began_ticks(os.getpid()),
            "boot": boot_id(),
            "attempt": self._plan.get("attempt", 1),
            "zero_s": order["zero_s"],
            "at": time.monotonic(),
            "supervisor": os.getppid(),  # the last one that was here
        }
        self._write(self._about)
        self._greet()

    def run(self) -> None:
        """Until the supervisor says so, or nobody has come for very long."""
        while not self._over:
            for fd, event in self._poll.poll(self._pause_ms()):
                if fd == self._door.fileno():
                    self._answer()
                elif fd == self._woken:
                    os.read(self._woken, HEAR_BYTES)
                    self._orphans_due_s = self._orphans_due_s or time.monotonic() + SWEEP_S
                elif fd in self._pidfds:
                    self._note_end(fd)
                elif self._supervisor and fd == self._supervisor.connection.fileno():
                    self._hear(event)
            if self._orphans_due_s and time.monotonic() >= self._orphans_due_s:
                self._orphans_due_s = None
                reap_orphans(frozenset(self._pids))
            self._heed_unsent()
            self._over = self._over or self._is_alone_for_long()
        with contextlib.suppress(OSError):
            os.unlink(SOCKET, dir_fd=self._dir_fd)

    def _pause_ms(self) -> float | None:
        due_s = [self._orphans_due_s] if self._orphans_due_s else []
        if self._supervisor is None and not self._pidfds:
            due_s.append(self._alone_since_s + self._hold_s)
        return max(0.0, min(due_s) - time.monotonic()) * 1000 + 1 if due_s else None

    def _is_alone_for_long(self) -> bool:
        if self._supervisor or self._pidfds:
            self._alone_since_s = time.monotonic()
            return False
        return time.monotonic() - self._alone_since_s >= self._hold_s

    def _heed_unsent(self) -> None:
        if self._supervisor:
            wanted = select.POLLIN | (select.POLLOUT if self._supervisor.unsent else 0)
            self._poll.modify(self._supervisor.connection.fileno(), wanted)

    def _answer(self) -> None:
        """One supervisor at a time, of our own user."""
        try:
            connection, _ = self._door.accept()
        except OSError:
            return
        if self._supervisor and self._supervisor.hear() is None:
            self._leave()
        pid, uid = _who(connection)
        if self._supervisor or uid != os.getuid():
            connection.close()
            return
        self._supervisor = Supervisor(connection)
        self._poll.register(connection.fileno(), select.POLLIN)
        self._greet()
        self._about["supervisor"] = pid

    def _greet(self) -> None:
        """All that has happened: whoever comes later knows as much as who was there."""
        for record in (self._about, *self._begun.values(), *self._ended.values()):
            self._tell(record)
        self._tell({"is": "all"})

    def _leave(self) -> None:
        if self._supervisor:
            self._poll.unregister(self._supervisor.connection.fileno())
            self._supervisor.connection.close()
            self._supervisor = None
            self._about["left"] = time.monotonic()

    def _hear(self, event: int) -> None:
        assert self._supervisor is not None
        if event & select.POLLOUT:
            self._supervisor.send()
        if not event & ~select.POLLOUT:
            return
        orders = self._supervisor.hear()
        try:
            for line in orders or ():
                self._obey(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError):  # we must outlive nonsense
            orders = None
        if orders is None:
            self._leave()

    def _obey(self, order: Record) -> None:
        match order["do"]:
            case "start":
                self._start(order)
            case "anew":
                self._begin_anew(order)
            case "let-go":
                self._let_go(order["task"])
            case "plan":
                self._tell({"is": "plan", "plan": self._plan})
            case "end":
                self._over = True

    def _begin_anew(self, order: Record) -> None:
        """The next attempt. Nobody of the last one may live: whoever asks has seen to that."""
        if self._pidfds or order["attempt"] <= self._about["attempt"]:
            return
        for task in tuple(self._ended):
            self._let_go(task)
        self._begun, self._ended = {}, {}
        self._plan |= {"attempt": order["attempt"], "addresses": order["addresses"]}
        self._about |= {"attempt": order["attempt"], "zero_s": order["zero_s"]}
        self._write(self._about)

    def _start(self, order: Record) -> None:
        """Each number of a task once: asked again, we say what we said."""
        task, number = order["task"], order.get("number", 1)
        begun = self._begun.get(task)
        if begun is None or (number > begun["number"] and self._is_over(task)):
            self._let_go(task)
            self._ended.pop(task, None)
            about = {"task": task, "number": number, "attempt": self._about["attempt"]}
            begun = self._begun[task] = {**self._started(order), **about}
            self._write(begun)
        self._tell(begun)

    def _is_over(self, task: str) -> bool:
        return task in self._ended or self._begun[task]["is"] == "refused"

    def _started(self, order: Record) -> Record:
        planned = self._planned[order["task"]]
        run_dir = Path(os.readlink(f"/proc/self/fd/{self._dir_fd}"))  # noqa: PTH115 - no other way
        given = {**os.environ, **planned["env"], **order.get("env", {})}
        env = in_task_env(given, run_dir)
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        opened: list[int] = []
        at = time.monotonic()
        try:
            names = (order["out"], order["err"])
            opened += [os.open(name, flags, dir_fd=self._dir_fd) for name in names]
            pid = spawn(
                order.get("command") or planned["command"],
                env,
                out_fd=opened[0],
                err_fd=opened[1],
                files_max=self._files_max,
            )
        except OSError as error:
            why = errno.errorcode.get(error.errno or 0, "unknown")
            return {"is": "refused", "errno": why, "at": at}
        finally:
            for fd in opened:
                os.close(fd)
        pidfd = os.pidfd_open(pid)
        self._pids[pid], self._pidfds[pidfd] = order["task"], pid
        self._poll.register(pidfd, select.POLLIN)
        return {"is": "started", "pid": pid, "ticks": began_ticks(pid), "at": at}

    def _note_end(self, pidfd: int) -> None:
        """How a task ended, without reaping it: its traces in /proc stay to be read."""
        found = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return
        pid = self._pidfds.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        task = self._pids[pid]
        by_itself = found.si_code == os.CLD_EXITED
        self._ended[task] = {
            "is": "exited",
            "task": task,
            "number": self._begun[task]["number"],
            "attempt": self._about["attempt"],
            "pid": pid,
            "code": found.si_status if by_itself else None,
            "signal": None if by_itself else found.si_status,
            "core": found.si_code == os.CLD_DUMPED,
            "at": time.monotonic(),
        }
        self._write(self._ended[task])
        self._tell(self._ended[task])

    def _let_go(self, task: str) -> None:
        """It is in the journal, and nobody wants to look at it any more."""
        pid = next((pid for pid, name in self._pids.items() if name == task), None)
        if task in self._ended and pid is not None:
            del self._pids[pid]
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            self._orphans_due_s = self._orphans_due_s or time.monotonic() + SWEEP_S

    def _write(self, record: Record) -> None:
        """What does not fit on a full disk now goes in with the next."""
        self._unsaved += json.dumps(record).encode() + b"\n"
        with contextlib.suppress(OSError):
            write_whole(self._record_fd, self._unsaved)
            self._unsaved = b""

    def _tell(self, record: Record) -> None:
        if self._supervisor:
            self._supervisor.tell(record)


def boot_id() -> str:
    """Another one after every start of this machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""


def socket_path(dir_fd: int) -> str:
    """By way of the directory's descriptor: the path itself may be too long for a socket."""
    return f"/proc/self/fd/{dir_fd}/{SOCKET}"


def _listen(dir_fd: int) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_mask = os.umask(0o177)
    try:
        door.bind(socket_path(dir_fd))
    finally:
        os.umask(old_mask)
    door.listen(4)
    door.setblocking(False)  # noqa: FBT003
    return door


def _who(connection: socket.socket) -> tuple[int, int]:
    """The pid and the user at the other end, by the kernel's word."""
    size = struct.calcsize("3i")
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _ = struct.unpack("3i", found)
    return pid, uid


def _woken_by_children() -> int:
    """A descriptor that is readable when a child has ended; orphans have no pidfd here."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def keep_to_ourselves() -> None:
    """The claims on the ports are ours: given to every task, they would eat up its limit."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as probes.process
        with contextlib.suppress(OSError):  # the one that listed them
            os.set_inheritable(int(name), False)  # noqa: FBT003 - its only way


def main() -> None:
    """Arguments: the run directory's descriptor, the first supervisor's, the files a task may open.

    On standard input the plan, with values of the environment: it is in no file.
    """
    for number in (*_IGNORED, *_ALSO_IGNORED):
        signal.signal(number, signal.SIG_IGN)
    adopt_orphans()
    keep_to_ourselves()
    dir_fd, first_fd, files_max = map(int, sys.argv[1:])
    order = json.loads(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    Holder(order, dir_fd, socket.socket(fileno=first_fd), files_max).run()


if __name__ == "__main__":
    main()
