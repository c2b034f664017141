"""A drop-in for `subprocess` that no amount of output can deadlock, and that says what failed.

What a process writes goes to files, never through pipes: it cannot block on us, we cannot
block on it, and a grandchild that keeps its output open keeps nobody waiting.
"""

import contextlib
import io
import math
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from holdfast.agent.clock import Clock
from holdfast.agent.post_mortem import MemoryWitness, post_mortem
from holdfast.model.findings import Diagnosis, Finding
from holdfast.probes.process import descendants, stat_of, with_marker

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
LOOK_EVERY_S = 0.02
SPEND_S_MAX = 5.0  # how long ending a whole tree may take
GIVE_BYTES = 65_536  # of input at once
_MARKER = "HOLDFAST_PROCESS"

Command = str | bytes | os.PathLike[str] | Sequence[str | bytes | os.PathLike[str]]


class FinishedProcess(subprocess.CompletedProcess[Any]):
    """What `subprocess.run` returns, and why it ended: `finding` is None when all is well."""

    def __init__(
        self, args: Any, returncode: int, stdout: Any, stderr: Any, diagnosis: Diagnosis
    ) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.diagnosis = diagnosis

    @property
    def finding(self) -> Finding | None:
        return next(iter(self.diagnosis.findings), None)

    def check_returncode(self) -> None:
        if self.returncode:
            raise FailedProcess(self)


class FailedProcess(subprocess.CalledProcessError):
    """`CalledProcessError` with the reason."""

    def __init__(self, finished: FinishedProcess) -> None:
        super().__init__(finished.returncode, finished.args, finished.stdout, finished.stderr)
        self.finding = finished.finding
        self.diagnosis = finished.diagnosis

    def __str__(self) -> str:
        reason = f" {self.finding.proof.says}" if self.finding else ""
        return super().__str__() + reason


class RunningProcess(subprocess.Popen[Any]):
    """`subprocess.Popen`, with files where that has pipes for output.

    `stdout` and `stderr` can be read while the process writes: reading waits for more, and
    ends when the process has ended. Nobody has to read them.
    """

    def __init__(
        self,
        args: Command,
        *,
        stdin: int | IO[Any] | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        text: bool | None = None,
        encoding: str | None = None,
        errors: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        shell: bool = False,
    ) -> None:
        self._clock = Clock(time.monotonic())
        self._began_unix_s = time.time()
        self._marker = os.urandom(8).hex()
        self._kept = {
            name: tempfile.TemporaryFile(mode="a+b", buffering=0)  # noqa: SIM115 - close() does
            for name, wanted in (("out", stdout), ("err", stderr))
            if wanted == PIPE
        }
        self._decode = bool(text or encoding or errors)
        self._encoding = encoding or ("utf-8" if self._decode else None)
        self._errors = errors or "replace"
        self._unsent: memoryview | None = None  # of the input that communicate() was given
        try:
            super().__init__(
                args,
                stdin=stdin,
                stdout=self._kept.get("out", stdout),
                stderr=self._kept.get("err", stderr),
                cwd=cwd,
                env={**(os.environ if env is None else env), _MARKER: self._marker},
                shell=shell,
                start_new_session=True,
                text=self._decode,
                encoding=self._encoding,
                errors=self._errors if self._decode else None,
            )
        except BaseException:
            _close_all(self._kept.values())
            raise
        self._pidfd = os.pidfd_open(self.pid)
        self._memory = MemoryWitness(self.pid)
        # Popen needs no closing by those who read nothing from it: nor do we.
        self._let_go = weakref.finalize(self, _let_go, self._pidfd, self._memory, self._kept)
        self.stdout = self._reader("out")
        self.stderr = self._reader("err")

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002 - Popen's own name
        """Wait for the end; what was written, whole, for each stream that was kept."""
        deadline_s = None if timeout is None else time.monotonic() + timeout
        taken = self._give(input, deadline_s)
        if self.returncode is None and not (taken and self._ended(_left_s(deadline_s))):
            raise self._expired(timeout)
        self.wait()
        return self.output("out"), self.output("err")

    def wait(self, timeout: float | None = None) -> int:
        """Told by the kernel, not by polling."""
        if self.returncode is None and not self._ended(timeout):
            raise self._expired(timeout)
        return super().wait()

    def _ended(self, wait_s: float | None) -> bool:
        if not self._let_go.alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                super().wait(wait_s)
            return self.returncode is not None
        return bool(_ready({self._pidfd: select.POLLIN}, wait_s))

    def _expired(self, timeout: float | None) -> subprocess.TimeoutExpired:
        so_far = (
            (None, None) if not self._let_go.alive else (self.output("out"), self.output("err"))
        )
        return subprocess.TimeoutExpired(self.args, timeout or 0.0, *so_far)

    def _give(self, content: Any, deadline_s: float | None) -> bool:
        """Input as fast as the process takes it, then its end; whether that was in time."""
        if self.stdin is None or self.stdin.closed:
            return True
        with contextlib.suppress(BrokenPipeError):
            self.stdin.flush()
        fd = self.stdin.fileno()
        if self._unsent is None:
            raw = (
                content.encode(self._encoding or "utf-8")
                if isinstance(content, str)
                else content or b""
            )
            self._unsent = memoryview(raw)
            os.set_blocking(fd, False)
        while self._unsent:
            ready = _ready({fd: select.POLLOUT, self._pidfd: select.POLLIN}, _left_s(deadline_s))
            if not ready:
                return False
            if fd not in ready:
                break  # it ended without reading the rest
            try:
                self._unsent = self._unsent[os.write(fd, self._unsent[:GIVE_BYTES]) :]
            except BrokenPipeError:
                break
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        return True

    def output(self, stream: str) -> Any:
        """All that a stream has been given so far; None when it is not kept."""
        if stream not in self._kept:
            return None
        fd = self._kept[stream].fileno()
        raw = os.pread(fd, os.fstat(fd).st_size, 0)
        if not self._decode:
            return raw
        # As subprocess does: in text, every kind of line end is "\n".
        said = raw.decode(self._encoding or "utf-8", self._errors)
        return said.replace("\r\n", "\n").replace("\r", "\n")

    def kill_tree(self) -> None:
        """End the process and everything it has started, wherever that has hidden."""
        deadline_s = time.monotonic() + SPEND_S_MAX
        while (left := self._tree()) and time.monotonic() < deadline_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(max(LOOK_EVERY_S, deadline_s - time.monotonic()))

    def _tree(self) -> set[int]:
        """By the mark in their environment, and below us: a child may have a clean one."""
        found = set(with_marker(f"{_MARKER}={self._marker}".encode()))
        if self.returncode is None:  # else the pid may be somebody else's by now
            own = stat_of(self.pid)
            found |= {self.pid} if own and own.state != "Z" else set()
            found |= {process.pid for process in descendants(self.pid)}
        return found

    def diagnose(self) -> Diagnosis:
        """Why it ended, from its exit and from what it wrote. Waits for the end."""
        code = self.wait()
        streams = {name: file.fileno() for name, file in self._kept.items()}
        return post_mortem(
            code,
            streams,
            pid=self.pid,
            memory=self._memory,
            clock=self._clock,
            began_unix_s=self._began_unix_s,
            host=socket.gethostname(),
        )

    def __exit__(self, *error: object) -> None:
        """As Popen: a process that reads its input to the end can end now."""
        try:
            if self.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self.stdin.close()
            self.wait()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the files. The process itself is not touched."""
        _close_all(stream for stream in (self.stdin, self.stdout, self.stderr) if stream)
        self._let_go()

    def _reader(self, stream: str) -> IO[Any] | None:
        if stream not in self._kept:
            return None
        followed = io.BufferedReader(_Followed(self._kept[stream].fileno(), self._pidfd))
        if not self._decode:
            return followed
        return io.TextIOWrapper(followed, encoding=self._encoding, errors=self._errors)


def run_process(
    args: Command,
    *,
    input: Any = None,  # noqa: A002 - subprocess.run's own name
    capture_output: bool = False,
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    text: bool | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    timeout: float | None = None,
    check: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    shell: bool = False,
) -> FinishedProcess:
    """`subprocess.run` that cannot deadlock, with the finding in its result.

    At the time-out the whole tree is killed, not only the process itself, and what it had
    written until then is in the exception.
    """
    if capture_output and (stdout is not None or stderr is not None):
        raise ValueError("stdout and stderr cannot be given together with capture_output")
    if input is not None and stdin is not None:
        raise ValueError("stdin and input cannot be given together")
    if capture_output:
        stdout = stderr = PIPE
    with contextlib.ExitStack() as stack:
        if input is not None:
            stdin = stack.enter_context(_as_file(input, encoding or "utf-8"))
        process = RunningProcess(
            args,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=text,
            encoding=encoding,
            errors=errors,
            cwd=cwd,
            env=env,
            shell=shell,
        )
        stack.callback(process.close)
        finished = _finish(process, timeout)
    if check:
        finished.check_returncode()
    return finished


def _finish(process: RunningProcess, timeout_s: float | None) -> FinishedProcess:
    try:
        out, err = process.communicate(timeout=timeout_s)
    except BaseException:  # also Ctrl-C: nothing of it may stay behind
        process.kill_tree()
        raise
    return FinishedProcess(process.args, process.returncode, out, err, process.diagnose())


def _as_file(content: Any, encoding: str) -> IO[bytes]:
    """Input from a file, not a pipe: a process that does not read it blocks nobody."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content.encode(encoding) if isinstance(content, str) else content)
    file.seek(0)
    return file


def _ready(wanted: Mapping[int, int], wait_s: float | None) -> set[int]:
    """Which descriptors are ready. Not select(): that knows no descriptor above 1023."""
    poll = select.poll()
    for fd, what in wanted.items():
        poll.register(fd, what)
    wait_ms = None if wait_s is None else math.ceil(max(0.0, wait_s) * 1000)
    return {fd for fd, _ in poll.poll(wait_ms)}


def _left_s(deadline_s: float | None) -> float | None:
    return None if deadline_s is None else deadline_s - time.monotonic()


def _let_go(pidfd: int, memory: MemoryWitness, kept: Mapping[str, IO[Any]]) -> None:
    _close_all(kept.values())
    os.close(pidfd)
    memory.close()


def _close_all(streams: Iterable[IO[Any]]) -> None:
    for stream in streams:
        with contextlib.suppress(BrokenPipeError):
            stream.close()


class _Followed(io.RawIOBase):
    """A growing file: its end is the end of the process that writes it."""

    def __init__(self, fd: int, pidfd: int) -> None:
        self._fd = os.dup(fd)
        self._pidfd = os.dup(pidfd)
        self._offset = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            ended = bool(_ready({self._pidfd: select.POLLIN}, 0))
            piece = os.pread(self._fd, len(buffer), self._offset)
            if piece or ended:
                self._offset += len(piece)
                buffer[: len(piece)] = piece
                return len(piece)
            _ready({self._pidfd: select.POLLIN}, LOOK_EVERY_S)

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
            os.close(self._pidfd)
        super().close()
