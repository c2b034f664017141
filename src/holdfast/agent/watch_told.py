"""What the programs of this host's tasks tell of themselves, by datagrams to a socket of ours.

They come from strangers: each is bounded, has the shape of one of ours, names a task, and comes
from a process that belongs to it by the kernel's word; the rest is counted, and told as such.
"""

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from holdfast.agent.in_task_env import IN_TASK
from holdfast.agent.watched import Watched
from holdfast.logdir.private_files import FOLDER_MODE, make_folder, open_folder_at
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.loss import FINE, SURE_TELLS, LossCourse
from holdfast.model.redact import redact
from holdfast.model.told_facts import DifferenceTold, ErrorTold, LossTold
from holdfast.probes.process import stat_of

FOLDER, SOCKET = IN_TASK, "told.sock"
DATAGRAM_BYTES_MAX = 8_192
DATAGRAMS_A_LOOK_MAX = 1_000
FACTS_WAITING_MAX = 200
ANCESTORS_MAX = 32
WRONG_AGAIN_S, LOSS_AGAIN_S = 60.0, 30.0
LOSSES_A_TASK_MAX = 4
Short = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=2_000)]
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_CREDENTIALS = struct.Struct("3i")


class _Step(msgspec.Struct, tag_field="is", tag="step"):
    task: Short
    step: _Count
    step_s: Annotated[float, Meta(ge=0)] = 0.0
    by: Short = "program"
    values: Annotated[dict[Short, float], Meta(max_length=16)] = {}
    nan: Annotated[list[Short], Meta(max_length=16)] = []


class _Differs(msgspec.Struct, tag_field="is", tag="differs"):
    task: Short
    about: Literal[
        "variable",
        "layer",
        "optimizer",
        "loss",
        "strategy",
        "graph",
        "input",
        "version",
        "setting",
    ]
    name: Annotated[str, Meta(max_length=200)]
    values: Annotated[dict[Text, list[Short]], Meta(max_length=16)]
    odd: Annotated[list[Short], Meta(max_length=32)] = []
    stops: bool = True


class _Error(msgspec.Struct, tag_field="is", tag="error"):
    task: Short
    exception: Annotated[str, Meta(max_length=200)]
    message: Text
    code: Short = ""
    op: Annotated[str, Meta(max_length=200)] = ""
    named: Annotated[list[Short], Meta(max_length=64)] = []
    tries: _Count = 1
    again: bool = False
    at: Annotated[str, Meta(max_length=1_000)] = ""


_DECODER = msgspec.json.Decoder(_Step | _Differs | _Error)


@dataclass(slots=True)
class _Course:
    """One loss of one task, and what was told of it."""

    losses: LossCourse = field(default_factory=LossCourse)
    step: int = 0
    told: str = FINE
    told_s: float = 0.0
    told_surely: bool = False


class ToldLook:
    """Listens in the run directory; what is told of steps goes to `Watched`, the rest is facts."""

    def __init__(self, dir_fd: int, host: str) -> None:
        self._host = host
        self._socket = _listening(dir_fd)
        self._courses: dict[tuple[TaskId, str], _Course] = {}
        self._facts: list[Fact] = []
        self._wrong, self._why = 0, ""
        self._wrong_told_s = -WRONG_AGAIN_S

    @property
    def fd(self) -> int:
        return self._socket.fileno()

    def hear(self, tasks: Mapping[TaskId, Watched], at_s: float) -> None:
        """What has come. The kernel keeps ten for us, no more: so it is read at once."""
        for _ in range(DATAGRAMS_A_LOOK_MAX):
            try:
                words, extra, flags, _ = self._socket.recvmsg(
                    DATAGRAM_BYTES_MAX, socket.CMSG_SPACE(_CREDENTIALS.size)
                )
            except BlockingIOError:
                return
            if flags & socket.MSG_TRUNC:
                self._refuse("too long")
            else:
                self._take(words, _sender(extra), tasks, at_s)

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        self.hear(tasks, at_s)
        for key in [key for key in self._courses if key[0] not in tasks]:
            del self._courses[key]
        yield from self._facts
        self._facts.clear()
        for (task, name), course in self._courses.items():
            yield from self._loss_facts(task, name, course, at_s)
        if self._wrong and at_s - self._wrong_told_s >= WRONG_AGAIN_S:
            why = f"{self._wrong} messages to {FOLDER}/{SOCKET} were refused: {self._why}"
            self._wrong, self._wrong_told_s = 0, at_s
            yield ProbeBlind(at_s=at_s, host=self._host, probe="told", why=why)

    def _refuse(self, why: str) -> None:
        self._wrong, self._why = self._wrong + 1, why

    def _take(self, words: bytes, pid: int, tasks: Mapping[TaskId, Watched], at_s: float) -> None:
        try:
            message = _DECODER.decode(words)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self._refuse(f"not one of ours ({error})"[:200])
            return
        watched = _belongs(pid, tasks)
        if watched is None or str(watched.task) != message.task:
            self._refuse(f"pid {pid} is no process of the task that it names")
            return
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": watched.task}
        match message:
            case _Step():
                watched.told_step = message.step
                if not watched.trains and pid in watched.pids:  # whatever library it trains with
                    watched.main, watched.trains = pid, True
                self._see_losses(watched.task, message)
            case _Differs():
                self._keep(
                    DifferenceTold(
                        about=message.about,
                        name=message.name,
                        values={what: tuple(who) for what, who in message.values.items()},
                        odd=tuple(message.odd),
                        stops=message.stops,
                        **where,
                    )
                )
            case _Error():
                self._keep(
                    ErrorTold(
                        exception=message.exception,
                        message=redact(message.message),
                        code=message.code,
                        op=message.op,
                        named=tuple(message.named),
                        tries=message.tries,
                        again=message.again,
                        at=redact(message.at),
                        **where,
                    )
                )

    def _keep(self, fact: Fact) -> None:
        if len(self._facts) < FACTS_WAITING_MAX:
            self._facts.append(fact)
        else:
            self._refuse("too many at once")

    def _see_losses(self, task: TaskId, told: _Step) -> None:
        """What is called a loss; other numbers may be anything."""
        values: dict[str, float | None] = {**told.values, **dict.fromkeys(told.nan)}
        losses = [name for name in values if name == "loss" or name.endswith("_loss")]
        for name in losses[:LOSSES_A_TASK_MAX]:
            course = self._courses.setdefault((task, name), _Course())
            course.step = told.step
            course.losses.see(told.step, values[name])

    def _loss_facts(self, task: TaskId, name: str, course: _Course, at_s: float) -> Iterator[Fact]:
        state = course.losses.state
        sure = course.losses.tells >= SURE_TELLS
        again = sure > course.told_surely or at_s - course.told_s >= LOSS_AGAIN_S
        if state == course.told and (state == FINE or not again):
            return
        course.told, course.told_s, course.told_surely = state, at_s, sure
        yield LossTold(
            at_s=at_s,
            host=self._host,
            task=task,
            name=name,
            state=state,
            step=course.step,
            since_step=course.losses.since_step,
            loss=course.losses.now,
            first=course.losses.first or 0.0,
            tells=course.losses.tells,
        )


def _listening(dir_fd: int) -> socket.socket:
    """A socket that only our own user may write to, wherever the run directory is."""
    with contextlib.suppress(FileExistsError):
        make_folder(FOLDER, dir_fd=dir_fd)
    folder = open_folder_at(FOLDER, dir_fd=dir_fd)
    try:
        if stat.S_IMODE(os.fstat(folder).st_mode) & ~FOLDER_MODE:
            raise PermissionError(f"others may enter {FOLDER}")
        _remove_old(folder)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        made.setblocking(False)  # noqa: FBT003 - its only way
        # By way of the descriptor: the path itself may be too long for a socket.
        old_mask = os.umask(0o177)
        try:
            made.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.umask(old_mask)
    finally:
        os.close(folder)
    return made


def _remove_old(folder: int) -> None:
    """The socket of a watcher before us. Anything else there is not ours to remove."""
    try:
        found = os.stat(SOCKET, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISSOCK(found.st_mode):
        os.unlink(SOCKET, dir_fd=folder)


def _sender(extra: list[tuple[int, int, bytes]]) -> int:
    """The process that sent it, by the kernel's word; 0: it is of another world."""
    for level, kind, content in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid, _, _ = _CREDENTIALS.unpack(content[: _CREDENTIALS.size])
            return int(pid)
    return 0


def _belongs(pid: int, tasks: Mapping[TaskId, Watched]) -> Watched | None:
    """The task whose process, or child of a process, this is."""
    of = {known: watched for watched in tasks.values() for known in watched.pids}
    for _ in range(ANCESTORS_MAX):
        if pid in of:
            return of[pid]
        found = stat_of(pid) if pid > 1 else None
        if found is None:
            return None
        pid = found.parent
    return None
