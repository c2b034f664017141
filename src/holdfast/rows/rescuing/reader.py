"""Hands jobs to the process that reads damaged files, and survives whatever becomes of it."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Self

from holdfast.rows.errors import Missing, RowsError

START_S = 120.0
SILENCE_S = 30.0  # beyond what a child may take: the kernel should have ended it
LINE_BYTES_MAX = 1 << 28
_READ_BYTES = 1 << 20


class Reader:
    """A context manager: one process for many jobs, each in a child of its own."""

    def __init__(self, *, step_s: float = 60.0) -> None:
        self._step_s = step_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def ask(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What the child tells; the last is {"ended": code}, whatever happened to it."""
        self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        line = json.dumps({**job, "step_s": self._step_s}).encode() + b"\n"
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            yield {"ended": -1}
            return
        while True:
            said = self._next(self._step_s + SILENCE_S)
            if said is None:
                self._abandon()
                yield {"ended": -1}
                return
            yield said
            if "ended" in said:
                return

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HDF5_USE_FILE_LOCKING": ""}
        self._buffer = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.rows.rescuing.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**{name: value for name, value in os.environ.items() if name not in quiet}}
            | {name: value for name, value in quiet.items() if value},
        )
        if self._next(START_S) != {"ready": True}:
            self._abandon()
            try:
                import h5py  # noqa: F401, PLC0415
            except ImportError as error:
                raise Missing("rows", package="h5py") from error
            raise RowsError("the process that reads damaged files did not start", do="try again")

    def _next(self, wait_s: float) -> dict[str, Any] | None:
        """One line; None when the process is gone or silent for too long."""
        assert self._process is not None
        assert self._process.stdout is not None
        until_s = time.monotonic() + wait_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                line, newline, rest = self._buffer.partition(b"\n")
                if newline:
                    self._buffer = rest
                    with contextlib.suppress(ValueError):
                        found = json.loads(line)
                        if isinstance(found, dict):
                            return found
                    continue
                left_s = until_s - time.monotonic()
                if left_s <= 0 or len(self._buffer) > LINE_BYTES_MAX or not selector.select(left_s):
                    return None
                piece = os.read(self._process.stdout.fileno(), _READ_BYTES)
                if not piece:
                    return None
                self._buffer += piece

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None
