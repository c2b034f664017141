"""A process of our own that tells us facts through a pipe, and may die without harm."""

import contextlib
import os
import signal
import subprocess
import sys

import msgspec

from holdfast.model.cluster import TaskId
from holdfast.model.codec import decode
from holdfast.model.errors import BadInput
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.probes.process import descendants

HEAR_BYTES = 1 << 20


class Child:
    """Started with its order as its one argument; told more in lines on its standard input."""

    def __init__(self, module: str, order: msgspec.Struct, *, probe: str, host: str) -> None:
        self._probe = probe
        self._host = host
        self._rest = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, msgspec.json.encode(order).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a scheduling group of its own: see scan.py
        )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        os.set_blocking(self.fd, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        try:
            heard = os.read(self.fd, HEAR_BYTES)
        except BlockingIOError:
            return []
        if not heard:
            return None
        *lines, self._rest = (self._rest + heard).split(b"\n")
        facts: list[Fact] = []
        for line in lines:
            try:
                facts.append(decode(line))
            except BadInput as error:
                facts.append(self.blind(f"sent what is not a fact: {error}"))
        return facts

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(words.encode() + b"\n")
            self._process.stdin.flush()

    def started(self, task: TaskId, pid: int) -> None:
        self.tell(f"started {task} {pid}")

    def ended(self, task: TaskId) -> None:
        self.tell(f"ended {task}")

    def blind(self, why: str, at_s: float = 0.0) -> ProbeBlind:
        return ProbeBlind(at_s=at_s, host=self._host, probe=self._probe, why=why)

    def wait(self) -> int:
        """Its exit code, once it has ended by itself."""
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        return code

    def kill(self) -> None:
        """It, and what it has started: that would be nobody's."""
        self._process.send_signal(signal.SIGSTOP)  # it starts no more
        started = descendants(self.pid)
        self._process.kill()
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        self.wait()
