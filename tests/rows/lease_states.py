"""Every state that several processes can bring a side file into, by the lease's own code.

The real code runs on a small kernel: one path, inodes, descriptors, flock. A process is the lease
it has and what the kernel has answered since: to go on by one call, its code runs again, is given
the old answers, and stops at the first call that has none. So a state is a value, each is visited
once, and a process may be killed in any of them: the kernel closes its descriptors.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from holdfast.rows import lease
from holdfast.rows.errors import Held
from holdfast.rows.lease_record import Owner, owner_in

Call = tuple[Any, ...]
Stage = Callable[["Process"], None]
# What nobody else can notice happens together with the call before it.
UNSEEN = ("fstat", "pread", "close", "clock", "begin_again")
NOW_S = 1e9
OVER = -1
REPLACED = ("os", "fcntl", "time", "myself", "held")  # in the lease's module


class Paused(BaseException):
    """The kernel has not yet answered this call."""


class Local(NamedTuple):
    """How far a process has come: which stage of its program, its lease, the answers in it."""

    stage: int = 0
    owner: Owner | None = None
    answers: tuple[Any, ...] = ()


class State(NamedTuple):
    """The kernel and the processes."""

    locals: tuple[Local, ...]
    at_path: int = 0  # the inode that has the name, 0: none
    content: tuple[tuple[int, bytes], ...] = ()  # by inode
    opened: tuple[tuple[int, int, int], ...] = ()  # process, descriptor, inode
    locked: tuple[tuple[int, int, int], ...] = ()  # inode, process, descriptor
    writing: frozenset[int] = frozenset()  # who has the guarded file open
    dead: frozenset[int] = frozenset()
    tokens: tuple[int, ...] = ()
    published: int = 0
    clock: int = 0


@dataclass
class Process:
    """The calls that a stage makes instead of the real ones."""

    number: int
    local: Local
    stays: bool
    at: int = 0
    is_paused: bool = False
    held: lease.Lease | None = None

    def __post_init__(self) -> None:
        if self.local.owner is not None:
            self.held = lease.Lease("side", self.local.owner, term_s=1.0, stays=self.stays)

    def call(self, *call: Any) -> Any:
        if self.is_paused:
            return None  # the code tidies up on its way out: none of it happens
        if self.at == len(self.local.answers):
            self.is_paused = True
            raise Paused(call)
        answer = self.local.answers[self.at]
        self.at += 1
        if isinstance(answer, OSError):
            raise answer
        return answer

    def take(self, counts: Callable[[Owner], bool]) -> None:
        self.held = lease.take("all.h5", task=str(self.number), stays=self.stays, counts=counts)

    def myself(self, task: str, *, token: int, term_s: float) -> Owner:
        nonce = f"{self.number}.{self.local.stage}"
        return Owner("host", 1, task, "now", NOW_S + term_s, token, "boot", "space", 1, nonce=nonce)

    def put_in_place(self) -> None:
        """The module sees this process's calls."""
        calls = ("open", "close", "pread", "pwrite", "unlink", "fstat")
        files = {name: _named(self, name) for name in calls}
        here = {"fsync": lambda fd: None, "fchmod": lambda fd, mode: None, "stat": _nowhere}
        clock = {
            "time": lambda: NOW_S,
            "time_ns": lambda: 1_000_000 * (self.call("clock") or 0),
            "sleep": lambda s: self.call("begin_again"),
        }
        ours = (
            SimpleNamespace(**{**vars(os), **files, **here}),
            SimpleNamespace(**{**vars(fcntl), "flock": _named(self, "flock")}),
            SimpleNamespace(**{**vars(time), **clock}),
            self.myself,
            lambda path, owner: Held("by another one"),
        )
        for name, one in zip(REPLACED, ours, strict=True):
            setattr(lease, name, one)


def _named(process: Process, name: str) -> Callable[..., Any]:
    return lambda *call: process.call(name, *call)


def _nowhere(path: object) -> None:
    raise FileNotFoundError


@dataclass
class Explorer:
    """All states from the first one on; a broken promise is an AssertionError."""

    programs: list[tuple[Stage, ...]]
    stays: bool
    kills_max: int
    _next: dict[tuple[int, Local], Call | Local] = field(default_factory=dict)

    def visit_all(self, *, states_max: int) -> int:
        """How many there are."""
        first = State((Local(),) * len(self.programs))
        seen, waiting = {first}, [first]
        while waiting:
            state = waiting.pop()
            for after in self._after(state):
                if after not in seen:
                    assert len(seen) < states_max, f"more than {states_max} states"
                    seen.add(after)
                    waiting.append(after)
        return len(seen)

    def _after(self, state: State) -> list[State]:
        found = []
        running = [
            number
            for number, local in enumerate(state.locals)
            if local.stage != OVER and number not in state.dead
        ]
        for number in running:
            if self._is_like_one_before(state, number):
                continue
            after = self._stepped(state, number)
            if after is not None:
                found.append(after)
            if len(state.dead) < self.kills_max:
                found.append(killed(state, number))
        assert found or not running, "they wait for each other"
        if not running:
            assert not state.opened, "a descriptor was left open"
        return found

    def _is_like_one_before(self, state: State, number: int) -> bool:
        """Of those who do the same and have not begun, the first begins."""
        return state.locals[number] == Local() and any(
            state.locals[other] == Local() and self.programs[other] == self.programs[number]
            for other in range(number)
            if other not in state.dead
        )

    def _stepped(self, state: State, number: int) -> State | None:
        """After its next call, and what nobody can notice after that; None while it must wait."""
        seen = 0
        while True:
            do = self._pending(number, state.locals[number])
            if isinstance(do, Local):
                state = _at(_noted(state, do), number, do)
                if do.stage == OVER:
                    return state
                continue
            if seen and (do[0] not in UNSEEN or _unlocks(state, number, do)):
                return state
            seen += 1
            answered = answer(state, number, do)
            if answered is None:
                return None
            state = answered

    def _pending(self, number: int, local: Local) -> Call | Local:
        """What its code calls next, or where it is after this stage."""
        key = (number, local)
        if key not in self._next:
            program = self.programs[number]
            process = Process(number, local, self.stays)
            process.put_in_place()
            stage = local.stage + 1 if local.stage + 1 < len(program) else OVER
            try:
                program[local.stage](process)
            except Paused as paused:
                self._next[key] = paused.args[0]
            except Held:
                self._next[key] = Local(OVER)
            else:
                owner = process.held.owner if process.held is not None else None
                self._next[key] = Local(stage, owner)
        return self._next[key]


def _noted(state: State, local: Local) -> State:
    """A lease that was just taken has a token that nobody had before."""
    if local.owner is None or local.owner in [one.owner for one in state.locals]:
        return state
    if any(one.owner and one.owner.nonce == local.owner.nonce for one in state.locals):
        return state  # renewed
    assert local.owner.token not in state.tokens, "a token came twice"
    return state._replace(tokens=tuple(sorted((*state.tokens, local.owner.token))))


def _at(state: State, number: int, local: Local) -> State:
    return state._replace(locals=(*state.locals[:number], local, *state.locals[number + 1 :]))


def answer(state: State, number: int, call: Call) -> State | None:
    """What the kernel does; None where the process must wait."""
    name, *asked = call
    local = state.locals[number]
    if name == "begin_again":  # the loop that it is in has no memory
        return _at(state, number, local._replace(answers=()))
    did = getattr(_Kernel(state, number), name)(*asked)
    if did is None:
        return None
    after, said = did
    return _at(after, number, local._replace(answers=(*local.answers, said)))


def killed(state: State, number: int) -> State:
    return state._replace(
        dead=state.dead | {number},
        writing=state.writing - {number},
        opened=tuple(one for one in state.opened if one[0] != number),
        locked=tuple(one for one in state.locked if one[1] != number),
    )


def _unlocks(state: State, number: int, call: Call) -> bool:
    return call[0] == "close" and any(one[1:] == (number, call[1]) for one in state.locked)


Did = tuple[State, Any] | None


@dataclass
class _Kernel:
    """What each call does to the state, for one process."""

    state: State
    number: int

    def open(self, path: str, flags: int, mode: int = 0) -> Did:
        state = self.state
        inode = state.at_path
        if not inode:
            if not flags & os.O_CREAT:
                return state, FileNotFoundError(errno.ENOENT, "none")
            used = {one for one, _ in state.content}
            inode = next(one for one in range(1, 100) if one not in used)
            state = state._replace(at_path=inode, content=_put(state.content, inode, b""))
        fds = {fd for number, fd, _ in state.opened if number == self.number}
        fd = next(one for one in range(3, 100) if one not in fds)
        opened = tuple(sorted((*state.opened, (self.number, fd, inode))))
        return state._replace(opened=opened), fd

    def close(self, fd: int) -> Did:
        opened = tuple(one for one in self.state.opened if one[:2] != (self.number, fd))
        locked = tuple(one for one in self.state.locked if one[1:] != (self.number, fd))
        return _forgotten(self.state._replace(opened=opened, locked=locked)), 0

    def flock(self, fd: int, how: int) -> Did:
        inode = self._inode(fd)
        for one in self.state.locked:
            if one[0] == inode and one[1:] != (self.number, fd):
                return None
        locked = {*self.state.locked, (inode, self.number, fd)}
        return self.state._replace(locked=tuple(sorted(locked))), 0

    def fstat(self, fd: int) -> Did:
        return self.state, SimpleStat(self._inode(fd))

    def pread(self, fd: int, size: int, at: int) -> Did:
        self._judge_lock(fd)
        return self.state, dict(self.state.content)[self._inode(fd)]

    def pwrite(self, fd: int, record: bytes, at: int) -> Did:
        self._judge_lock(fd)
        self._judge_change(dict(self.state.content)[self._inode(fd)])
        content = _put(self.state.content, self._inode(fd), record)
        return self.state._replace(content=content), len(record)

    def unlink(self, path: str) -> Did:
        if not self.state.at_path:
            return self.state, FileNotFoundError(errno.ENOENT, "none")
        self._judge_change(dict(self.state.content)[self.state.at_path])
        return _forgotten(self.state._replace(at_path=0)), 0

    def clock(self) -> Did:
        after = self.state._replace(clock=self.state.clock + 1)
        return after, after.clock

    def counts(self, owner: Owner) -> Did:
        """As the guard asks /proc: it lives, and has the file open, or is about to."""
        other = int(owner.task)
        is_open = not owner.inode or other in self.state.writing
        return self.state, owner.until_s > 0 and other not in self.state.dead and is_open

    def open_file(self) -> Did:
        others = self.state.writing - {self.number}
        assert not others, f"{self.number} is a second writer beside {set(others)}"
        return self.state._replace(writing=self.state.writing | {self.number}), 0

    def close_file(self) -> Did:
        return self.state._replace(writing=self.state.writing - {self.number}), 0

    def publish(self, token: int) -> Did:
        assert token > self.state.published, "an older one published later"
        return self.state._replace(published=token), 0

    def _inode(self, fd: int) -> int:
        return next(
            one for number, at, one in self.state.opened if (number, at) == (self.number, fd)
        )

    def _judge_lock(self, fd: int) -> None:
        """So that a record that was read stays so until its reader is done."""
        assert (self._inode(fd), self.number, fd) in self.state.locked, "a record without its lock"

    def _judge_change(self, record: bytes) -> None:
        """Whoever has a lease changes or removes a record only if it is that lease's."""
        mine, there = self.state.locals[self.number].owner, owner_in(record)
        if mine is not None and there is not None:
            is_its_own = (there.task, there.token) == (mine.task, mine.token)
            assert is_its_own, f"{self.number} ends the lease of {there.task}"


@dataclass(frozen=True)
class SimpleStat:
    """As much of a stat as the lease looks at."""

    st_ino: int
    st_dev: int = 1


def _put(
    content: tuple[tuple[int, bytes], ...], inode: int, record: bytes
) -> tuple[tuple[int, bytes], ...]:
    return tuple(sorted({**dict(content), inode: record}.items()))


def _forgotten(state: State) -> State:
    """A file without a name that nobody has open is gone."""
    kept = {state.at_path, *(inode for _, _, inode in state.opened)}
    return state._replace(content=tuple(one for one in state.content if one[0] in kept))
