"""A process of one's own while it runs: `subprocess.Popen`, with files where that has pipes."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import IO, Any, Unpack

from holdfast.agent.clock import Clock
from holdfast.agent.followed_file import LOOK_EVERY_S, end_watch, open_followed, ready_fds
from holdfast.agent.post_mortem import MemoryWitness, post_mortem
from holdfast.agent.process_settings import ProcessSettings, settings_by_name, text_encoding
from holdfast.model.findings import Diagnosis
from holdfast.probes.process import descendants, stat_of, with_marker

PIPE = subprocess.PIPE
SPEND_S_MAX = 5.0  # how long ending a whole tree may take
GIVE_BYTES = 65_536  # of input at once
_MARKER = "HOLDFAST_PROCESS"


class RunningProcess(subprocess.Popen[Any]):
    """`subprocess.Popen`, with files where that has pipes for output.

    `stdout` and `stderr` can be read while the process writes: reading waits for more, and
    ends when the process has ended. Nobody has to read them.
    """

    _sigint_wait_secs: float  # Popen's own
    _marker = ""  # until it is about to start
    _let_go: "weakref.finalize[..., RunningProcess] | None" = None  # until it has started

    def __init__(self, *by_place: Any, **by_name: Unpack[ProcessSettings]) -> None:
        settings = settings_by_name(by_place, by_name)
        self._encoding = text_encoding(settings)
        self._errors = settings.get("errors") or "strict"
        self._clock = Clock(time.monotonic())
        self._began_unix_s = time.time()
        self._kept = {
            name: tempfile.TemporaryFile(mode="a+b", buffering=0)  # noqa: SIM115 - close() does
            for name, wanted in (("out", settings.get("stdout")), ("err", settings.get("stderr")))
            if wanted == PIPE
        }
        self._unsent: memoryview | None = None  # of the input that communicate() was given
        self._marker = os.urandom(8).hex()
        try:
            super().__init__(**{**settings, **self._instead(settings)})
        except BaseException as error:
            self._give_up(has_started=not isinstance(error, Exception))
            raise
        try:
            self._watch(settings)
        except BaseException:
            self._give_up(has_started=True)
            raise

    def _give_up(self, *, has_started: bool) -> None:
        """Nothing may stay behind. At Ctrl-C it may run already, and Popen not know its pid."""
        if has_started:
            self.kill_tree()
        self._marker = ""
        _close_all(self._kept.values())

    def _watch(self, settings: ProcessSettings) -> None:
        self._end_fd = end_watch(self.pid)
        self._memory = MemoryWitness(self.pid)
        # Popen needs no closing by those who read nothing from it: nor do we.
        self._let_go = weakref.finalize(self, _let_go, self._end_fd, self._memory, self._kept)
        self.stdout = self._reader("out", settings)
        self.stderr = self._reader("err", settings)

    def _instead(self, settings: ProcessSettings) -> dict[str, Any]:
        """What it is started with in place of what was asked for: files, and a mark."""
        files = {f"std{name}": file for name, file in self._kept.items()}
        env, prepare, marker = settings.get("env"), settings.get("preexec_fn"), self._marker
        if env is not None or prepare is None:
            return {**files, "env": {**(os.environ if env is None else env), _MARKER: marker}}

        def marked() -> None:
            # What `prepare` sets is inherited only where no environment is given.
            os.putenv(_MARKER, marker)
            prepare()

        return {**files, "preexec_fn": marked}

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002 - Popen's own name
        """Wait for the end; what was written, whole, for each stream that was kept."""
        if self._unsent is not None and input:
            raise ValueError("Cannot send input after starting communication")
        deadline_s = None if timeout is None else time.monotonic() + timeout
        with self._polite():
            taken = self._give(input, deadline_s)
            if self.returncode is None and not (taken and self._ended(_left_s(deadline_s))):
                raise self._expired(timeout)
        self.wait()
        _close_all(stream for stream in (self.stdout, self.stderr) if stream)
        return self.output("out"), self.output("err")

    def wait(self, timeout: float | None = None) -> int:
        """Told by the kernel, not by polling."""
        with self._polite():
            if self.returncode is None and not self._ended(timeout):
                raise self._expired(timeout)
        return super().wait()

    @contextlib.contextmanager
    def _polite(self) -> Any:
        """Ctrl-C reaches the process, too: as with Popen, it has a moment to end by itself."""
        try:
            yield
        except KeyboardInterrupt:
            wait_s, self._sigint_wait_secs = self._sigint_wait_secs, 0.0
            if wait_s and self.returncode is None:
                self._ended(wait_s)
            raise

    def _ended(self, wait_s: float | None) -> bool:
        if not self._is_watched:
            with contextlib.suppress(subprocess.TimeoutExpired):
                super().wait(wait_s)
            return self.returncode is not None
        return bool(ready_fds({self._end_fd: select.POLLIN}, wait_s))

    @property
    def _is_watched(self) -> bool:
        return self._let_go is not None and self._let_go.alive

    def _expired(self, timeout: float | None) -> subprocess.TimeoutExpired:
        """With what was written so far: in bytes, also of text, as with Popen."""
        so_far = (self._bytes("out"), self._bytes("err")) if self._is_watched else ()
        return subprocess.TimeoutExpired(self.args, timeout or 0.0, *so_far)

    def _give(self, content: Any, deadline_s: float | None) -> bool:
        """Input as fast as the process takes it, then its end; whether that was in time."""
        if self.stdin is None or self.stdin.closed:
            return True
        with contextlib.suppress(BrokenPipeError):
            self.stdin.flush()
        if self._unsent is None:
            self._unsent = memoryview(self._as_bytes(content)).cast("B")
        if self._unsent:
            fd = self.stdin.fileno()
            os.set_blocking(fd, False)
            if not self._give_all(fd, deadline_s):
                return False
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        return True

    def _give_all(self, fd: int, deadline_s: float | None) -> bool:
        while self._unsent:
            wanted = {fd: select.POLLOUT, self._end_fd: select.POLLIN}
            ready = ready_fds(wanted, _left_s(deadline_s))
            if not ready:
                return False
            if fd not in ready:
                break  # it ended without reading the rest
            try:
                self._unsent = self._unsent[os.write(fd, self._unsent[:GIVE_BYTES]) :]
            except BrokenPipeError:
                break
        return True

    def _as_bytes(self, content: Any) -> Any:
        if isinstance(content, str):
            return content.encode(self._encoding or "utf-8", self._errors)
        return content or b""

    def output(self, stream: str) -> Any:
        """All that a stream has been given so far; None when it is not kept."""
        raw = self._bytes(stream)
        if raw is None or self._encoding is None:
            return raw
        # As subprocess does: in text, every kind of line end is "\n".
        said = raw.decode(self._encoding, self._errors)
        return said.replace("\r\n", "\n").replace("\r", "\n")

    def _bytes(self, stream: str) -> bytes | None:
        if stream not in self._kept:
            return None
        fd = self._kept[stream].fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0)

    def kill_tree(self) -> None:
        """End the process and everything it has started, wherever that has hidden."""
        if not self._marker:
            return
        deadline_s = time.monotonic() + SPEND_S_MAX
        killed: set[int] = set()
        while (left := self._tree()) and time.monotonic() < deadline_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            killed |= left
            time.sleep(LOOK_EVERY_S)
        if self.pid:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(max(LOOK_EVERY_S, deadline_s - time.monotonic()))
            return
        for pid in killed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _tree(self) -> set[int]:
        """By the mark in their environment, and below them: a child may have a clean one."""
        marked = set(with_marker(f"{_MARKER}={self._marker}".encode()))
        if self.returncode is not None:  # the pid may be somebody else's by now
            return marked
        below = {self.pid} if self.pid else marked
        found = marked | {process.pid for pid in below for process in descendants(pid)}
        own = stat_of(self.pid) if self.pid else None
        return found | ({self.pid} if own and own.state != "Z" else set())

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """As Popen: a process that reads its input to the end can end now."""
        try:
            super().__exit__(kind, error, trace)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the files. The process itself is not touched."""
        _close_all(stream for stream in (self.stdin, self.stdout, self.stderr) if stream)
        if self._let_go is not None:
            self._let_go()

    def _reader(self, stream: str, settings: ProcessSettings) -> IO[Any] | None:
        if stream not in self._kept:
            return None
        bufsize = settings.get("bufsize", -1)
        return open_followed(
            self._kept[stream].fileno(),
            self._end_fd,
            bufsize=-1 if bufsize is None else bufsize,
            encoding=self._encoding,
            errors=self._errors,
        )


def _left_s(deadline_s: float | None) -> float | None:
    return None if deadline_s is None else deadline_s - time.monotonic()


def _let_go(end_fd: int, memory: MemoryWitness, kept: Mapping[str, IO[Any]]) -> None:
    _close_all(kept.values())
    os.close(end_fd)
    memory.close()


def _close_all(streams: Iterable[IO[Any]]) -> None:
    for stream in streams:
        with contextlib.suppress(BrokenPipeError):
            stream.close()
