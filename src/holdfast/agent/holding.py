"""The supervisor's side of the holder: starts it or finds it again, asks it, hears it."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from holdfast.agent.hold import RECORD, boot_id, socket_path
from holdfast.logdir.private_files import open_for_reading
from holdfast.probes.process import stat_of

HEAR_BYTES = 1 << 20
ANSWER_S = 60.0  # how long the holder may take to answer
REACH_S = 5.0
END_S = 5.0
RECORD_BYTES_MAX = 64 << 20


class Record(msgspec.Struct, rename={"kind": "is"}):
    """What the holder says, as it stands in holder.jsonl, too. Times are the kernel's own."""

    kind: str
    task: str = ""
    attempt: int = 1
    number: int = 1  # of this task's starts in the attempt
    pid: int = 0
    ticks: int = 0
    at: float = 0.0
    code: int | None = None
    signal: int | None = None
    core: bool = False
    errno: str = "unknown"
    zero_s: float = 0.0
    boot: str = ""
    supervisor: int = 0  # the pid of the one before
    left: float = 0.0  # when that one left
    plan: msgspec.Raw = msgspec.Raw()


class Holding:
    """The connection to the holder of this run, or the word that it is gone."""

    def __init__(
        self,
        dir_fd: int,
        connection: socket.socket | None,
        child: "subprocess.Popen[bytes] | None",
        *,
        attempt: int = 1,
    ) -> None:
        self.attempt = attempt
        self._dir_fd = dir_fd
        self._connection = connection
        self._child = child
        self._rest = b""
        self._seen: set[tuple[object, ...]] = set()
        self._past: list[Record] | None = None
        self.about: Record | None = None

    @property
    def lost(self) -> bool:
        """Whether the holder is gone: how a task ends is then told to nobody."""
        return self._connection is None

    @property
    def fd(self) -> int | None:
        return self._connection.fileno() if self._connection else None

    @property
    def pid(self) -> int | None:
        return self.about.pid if self.about and not self.lost else None

    def past(self) -> list[Record]:
        """What had happened before we came. The first call waits for the holder to speak."""
        if self._past is None:
            self._past = self._greeting()
        return self._past

    def _greeting(self) -> list[Record]:
        found: list[Record] = []
        while not self.lost:
            fresh = self._read(ANSWER_S)
            found += fresh
            if any(record.kind == "all" for record in fresh):
                break
        else:
            found += self._written()
        self.about = max(
            (record for record in found if record.kind == "holder"),
            key=lambda record: record.attempt,
            default=None,
        )
        return [record for record in found if record.kind in {"started", "refused", "exited"}]

    def hear(self) -> list[Record]:
        """What it has said since; once it is gone, the rest of what it wrote down."""
        fresh = self._read(0)
        return [*fresh, *(self._written() if self.lost else ())]

    def start(
        self,
        task: str,
        *,
        out: str,
        err: str,
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        number: int = 1,
    ) -> list[Record]:
        """Order a start; its answer, and the deaths that were told meanwhile.

        `command` and `env` are what differs from the plan that the holder was given.
        """
        names = {"out": out, "err": err, "command": list(command), "env": dict(env or {})}
        self._say({"do": "start", "task": task, "number": number, **names})
        heard: list[Record] = []
        while not self.lost:
            heard += self._read(ANSWER_S)
            answers = (one for one in heard if one.kind in {"started", "refused"})
            if any((one.task, one.number) == (task, number) for one in answers):
                break
        else:
            heard += self._written()
        return heard

    def begin_anew(self, attempt: int, *, zero_s: float, addresses: Mapping[str, str]) -> None:
        """From here on all that is started belongs to another attempt, with a clock of its own."""
        self.attempt, self._past = attempt, []
        if self.about:
            self.about.attempt, self.about.zero_s = attempt, zero_s
        asked = {"attempt": attempt, "zero_s": zero_s, "addresses": dict(addresses)}
        self._say({"do": "anew", **asked})

    def let_go(self, task: str) -> None:
        """It is in the journal, and its traces have been read."""
        self._say({"do": "let-go", "task": task})

    def plan(self) -> bytes | None:
        """The plan with its values: the holder alone has it."""
        past = self.past()
        self._say({"do": "plan"})
        plan = None
        while not self.lost and plan is None:
            for record in self._read(ANSWER_S):
                if record.kind == "plan":
                    plan = bytes(record.plan)
                else:  # somebody died just now
                    past.append(record)
        return plan

    def end(self) -> None:
        """The job is over: it may go, and is gone when this returns."""
        self._say({"do": "end"})
        if self._child:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(END_S)
        elif self._connection:
            # Its end of the connection closes when it ends: all that is left to wait for.
            deadline_s = time.monotonic() + END_S
            while not self.lost and time.monotonic() < deadline_s:
                self._read(END_S)
        self._lose()

    def _say(self, order: dict[str, Any]) -> None:
        if self._connection:
            try:
                self._connection.sendall(msgspec.json.encode(order) + b"\n")
            except OSError:  # what it said before is still to be read
                return

    def _read(self, wait_s: float) -> list[Record]:
        if self._connection is None:
            return []
        if wait_s and not _is_readable(self._connection, wait_s):
            self._lose()
            return []
        try:
            heard = self._connection.recv(HEAR_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            heard = b""
        if not heard:
            self._lose()
            return []
        *lines, self._rest = (self._rest + heard).split(b"\n")
        return list(self._new(lines))

    def _lose(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _written(self) -> list[Record]:
        """What stands in holder.jsonl and nobody has told us."""
        try:
            fd = open_for_reading(RECORD, dir_fd=self._dir_fd)
        except OSError:
            return []
        with os.fdopen(fd, "rb") as file:
            return list(self._new(file.read(RECORD_BYTES_MAX).split(b"\n")[:-1]))

    def _new(self, lines: Iterable[bytes]) -> Iterable[Record]:
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError):
                record = msgspec.json.decode(line, type=Record)
                key = (record.kind, record.task, record.attempt, record.number)
                is_old = bool(record.task) and record.attempt != self.attempt
                if not is_old and (key not in self._seen or record.kind in {"plan", "all"}):
                    self._seen.add(key)
                    yield record


def start_holder(
    plan: bytes,
    dir_fd: int,
    *,
    zero_s: float,
    files_max: int,
    claims: Sequence[int] = (),
) -> Holding:
    """A new holder, in a session of its own; it takes the claims on the ports from us."""
    ours, its = socket.socketpair()
    with its:
        child = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "holdfast.agent.hold"),
                *(str(dir_fd), str(its.fileno()), str(files_max)),
            ],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(dir_fd, its.fileno(), *claims),
        )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        # Through a pipe, not a file or arguments: the environment may hold secrets.
        child.stdin.write(msgspec.json.encode({"plan": msgspec.Raw(plan), "zero_s": zero_s}))
        child.stdin.close()
    for claim in claims:
        os.close(claim)
    return Holding(dir_fd, ours, child)


def reach_holder(dir_fd: int, *, attempt: int = 1) -> Holding:
    """The holder of a run whose supervisor is gone; `lost` when it is gone, too."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline_s = time.monotonic() + REACH_S
    while True:
        try:
            connection.connect(socket_path(dir_fd))
        except OSError:
            connection.close()
            return Holding(dir_fd, None, None, attempt=attempt)
        # Closed at once: it has not yet noticed that the one before us is gone.
        if not _is_readable(connection, REACH_S) or connection.recv(1, socket.MSG_PEEK):
            return Holding(dir_fd, connection, None, attempt=attempt)
        connection.close()
        if time.monotonic() > deadline_s:
            return Holding(dir_fd, None, None, attempt=attempt)
        time.sleep(0.05)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def _is_readable(connection: socket.socket, wait_s: float) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(wait_s * 1000))


def is_there(started: Record, about: Record | None) -> bool:
    """Whether a task's process is still there, dead or alive, and is the one that was started."""
    now = stat_of(started.pid)
    same_boot = about is not None and about.boot == boot_id()
    return now is not None and same_boot and now.started_ticks == started.ticks
