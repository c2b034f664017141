"""What programs wrote down before their end, read after it: files of strangers, bounded, as facts.

A task may write anything into its folder, or a link to anywhere: what is not a plain file of our
own user, not too large and not shaped as our part in the program shapes it is left alone, with a
word about it.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.agent.clock import Clock
from holdfast.agent.in_task_env import IN_TASK
from holdfast.agent.past import Past
from holdfast.logdir.private_files import open_folder_at, open_for_reading
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, ProbeBlind, TaskStarted
from holdfast.model.origin import Origin, origin_of
from holdfast.model.plan import PlannedTask
from holdfast.model.redact import redact
from holdfast.model.told_facts import MAIN_THREAD, ExceptionLeft
from holdfast.model.tracebacks import Traceback, without_graph_noise

WORDS, ERRORS = ".last-words.json", ".errors.jsonl"
NAMES_MAX = 10_000  # of the folder
FILES_MAX = 32  # of one task: of more, the newest
WORDS_BYTES_MAX = 1 << 20
ERRORS_BYTES_MAX = 512 << 10  # from the end
REFUSED_TOLD_MAX = 4
FRAMES_MAX, CAME_FROM_MAX, NAMED_MAX = 60, 8, 16
EAGER = "__wrapped__"  # TensorFlow's name for an op that stands in no graph
UNSHOWN = "".join(map(chr, (*range(32), 127)))
_SPACES = str.maketrans(dict.fromkeys(UNSHOWN, " "))
Text = Annotated[str, Meta(max_length=8_000)]
Short = Annotated[str, Meta(max_length=200)]
AtS = Callable[[float], float]  # the wall clock's time on the attempt's clock


class _Raised(msgspec.Struct):
    exception: Short
    message: Text = ""
    frames: list[Text] = []


class _Left(_Raised, kw_only=True):
    """One record, of either file."""

    task: Short
    pid: Annotated[int, Meta(ge=1, le=2**31)]
    attempt: Annotated[int, Meta(ge=1, le=10**9)] = 1
    at: datetime
    thread: Short = MAIN_THREAD
    step: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    code: Short = ""
    op: Short = ""
    node: Short = ""  # TensorFlow's own word for it
    named: list[Short] = []
    file: Text = ""
    mode: Short = ""
    again: bool = False
    origin: Annotated[list[_Raised], Meta(max_length=64)] = msgspec.field(default=[], name="from")


_DECODER = msgspec.json.Decoder(_Left)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    changed_s: float


def left_after(
    where: dict[str, Any], planned: PlannedTask, run_dir: RunDir, clock: Clock, past: Past
) -> list[Fact]:
    """What a task that has just ended left; each file once, though the task be started again."""
    zero_unix_s = time.time() - clock.at_s()
    facts = list(
        left_behind(
            where,
            run_dir.fd,
            at_s=lambda unix_s: unix_s - zero_unix_s,
            known=past.left,
            attempt=int(planned.env.get("HOLDFAST_ATTEMPT", "1")),  # as its program knows it
        )
    )
    past.left |= {fact.source for fact in facts if isinstance(fact, ExceptionLeft)}
    return facts


def left_unread(run_dir: RunDir, evidence: Evidence, journal: Iterable[Fact]) -> Iterator[Fact]:
    """What a journal does not have, because its supervisor was gone before it could read."""
    known = {fact.source for fact in journal if isinstance(fact, ExceptionLeft)}
    began_s = evidence.began_unix_s()
    hosts = {fact.task: fact.host for fact in evidence.of(TaskStarted)}
    for task, host in hosts.items():
        exited = evidence.exit_of(task)
        at_s = exited.at_s if exited else max(0.0, time.time() - began_s)
        yield from left_behind(
            {"at_s": at_s, "host": host, "task": task, "attempt": evidence.attempt},
            run_dir.fd,
            at_s=lambda unix_s: unix_s - began_s,
            known=known,
            attempt=evidence.attempt,
        )


def left_behind(
    where: dict[str, Any], dir_fd: int, *, at_s: AtS, known: Collection[str] = (), attempt: int = 1
) -> Iterator[Fact]:
    """What the program of a task, whom `where` names, has left in the run directory `dir_fd`.

    `known` are the sources that were told before: of a task that was started again.
    """
    try:
        folder = open_folder_at(IN_TASK, dir_fd=dir_fd)
    except OSError:
        return
    try:
        yield from _Reader(where, folder, at_s, attempt).facts(known)
    except OSError as error:  # the storage itself: nothing of a run may end over it
        why = f"what {where['task']} left could not be read: {error.strerror}"
        yield ProbeBlind(probe=IN_TASK, why=why, **{**where, "task": None})
    finally:
        os.close(folder)


class _Reader:
    """One look at the folder, for one task."""

    def __init__(self, where: dict[str, Any], folder: int, at_s: AtS, attempt: int) -> None:
        self._where = where
        self._folder = folder
        self._at_s = at_s
        self._attempt = attempt
        self._refused: list[str] = []

    def facts(self, known: Collection[str]) -> Iterator[Fact]:
        task: TaskId = self._where["task"]
        here = self._files(f"{task.role}-{task.index}.")
        files = [one for one in here if f"{IN_TASK}/{one.name}" not in known]
        raised = {
            one.name: found
            for one in files
            if one.name.endswith(WORDS) and (found := self._words(one, str(task)))
        }
        guarded = {
            one.name: found
            for one in files
            if one.name.endswith(ERRORS) and (found := self._last_error(one, str(task)))
        }
        for name, left in raised.items():
            same = (one for one in guarded.values() if _is_same(one, left))
            yield self._fact(name, left, next(same, left))
        for name, error in guarded.items():
            if not any(_is_same(error, left) for left in raised.values()):
                yield self._fact(name, error, error, guarded=True)
        place = {**self._where, "task": None}
        for why in self._refused[:REFUSED_TOLD_MAX]:
            yield ProbeBlind(probe=IN_TASK, why=why, **place)

    def _files(self, stem: str) -> list[_File]:
        """Those with names of ours, the newest last."""
        found: list[_File] = []
        with os.scandir(self._folder) as entries:
            for _, entry in zip(range(NAMES_MAX), entries, strict=False):
                if entry.name.startswith(stem) and entry.name.endswith((WORDS, ERRORS)):
                    with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                        changed_s = entry.stat(follow_symlinks=False).st_mtime
                        found.append(_File(entry.name, changed_s))
        return sorted(found, key=lambda one: (one.changed_s, one.name))[-FILES_MAX:]

    def _words(self, file: _File, task: str) -> _Left | None:
        content = self._content(file.name, bytes_max=WORDS_BYTES_MAX)
        if content is not None and len(content) > WORDS_BYTES_MAX:
            self._refuse(file.name, "it is too large")
            return None
        return None if content is None else self._decoded(file.name, content, task)

    def _last_error(self, file: _File, task: str) -> _Left | None:
        """The last that was not tried again; what stands before it was coped with."""
        content = self._content(file.name, bytes_max=ERRORS_BYTES_MAX)
        for line in reversed((content or b"").splitlines()):
            found = self._decoded(file.name, line, task)
            if found is None or not found.again:
                return found
        return None

    def _content(self, name: str, *, bytes_max: int) -> bytes | None:
        """The end of a file; one byte more than it may have, if it has more."""
        try:
            fd = open_for_reading(name, dir_fd=self._folder)
        except OSError as error:
            self._refuse(name, f"it is no plain file ({error.strerror})")
            return None
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                self._refuse(name, "others than we may have written it")
                return None
            file.seek(max(0, found.st_size - bytes_max - 1))
            return file.read(bytes_max + 1)

    def _decoded(self, name: str, content: bytes, task: str) -> _Left | None:
        try:
            found = _DECODER.decode(content)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self._refuse(name, f"it is not as our part in a program writes it ({error})")
            return None
        return found if found.task == task and found.attempt == self._attempt else None

    def _refuse(self, name: str, why: str) -> None:
        self._refused.append(f"{_one_line(f'{IN_TASK}/{name}')} was not read: {_one_line(why)}")

    def _fact(self, name: str, left: _Left, more: _Left, *, guarded: bool = False) -> ExceptionLeft:
        """`more` is what a guard knew of the same exception."""
        at = left.at if left.at.tzinfo else left.at.replace(tzinfo=UTC)
        at_s = min(max(self._at_s(at.timestamp()), 0.0), self._where["at_s"])
        origins = [_origin(one) for one in left.origin[:CAME_FROM_MAX]]
        return ExceptionLeft(
            **{**self._where, "at_s": round(at_s, 3)},
            exception=_kind(left),
            message=redact(without_graph_noise(left.message)),
            frames=tuple(redact(_one_line(frame)) for frame in left.frames[-FRAMES_MAX:]),
            source=f"{IN_TASK}/{name}",
            pid=left.pid,
            thread=_one_line(left.thread),
            step=-1 if left.step is None else left.step,
            code=_one_line(more.code),
            op=_one_line(more.op),
            in_graph="" if EAGER in more.node else _one_line(more.node).strip("{} "),
            named=tuple(map(_one_line, more.named[:NAMED_MAX])),
            came_from=tuple(_one_line(redact(one.text)) for one in origins),
            came_from_at=tuple(_one_line(redact(one.frame)) for one in origins),
            file=_one_line(redact(left.file)),
            mode=_one_line(left.mode),
            guarded=guarded,
        )


def _is_same(error: _Left, left: _Left) -> bool:
    """Whether the exception that ended a program is the one that its guard saw."""
    pairs = ((one.pid, one.exception, one.message) for one in (error, left))
    return next(pairs) == next(pairs)


def _kind(raised: _Raised) -> str:
    """As Python prints it."""
    name = _one_line(raised.exception)
    return name.removeprefix("builtins.").removeprefix("__main__.")


def _origin(raised: _Raised) -> Origin:
    frames = tuple(raised.frames[-FRAMES_MAX:])
    return origin_of(Traceback(_kind(raised), without_graph_noise(raised.message), frames))


def _one_line(text: str) -> str:
    return text.translate(_SPACES)[:400]
