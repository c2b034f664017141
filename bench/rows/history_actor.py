"""Plays processes of a history: a server that forks one for each history it is told.

It is started through one of the doors of the guard, connects to the socket it is given, and is
told the steps of one process at a time. What that process does is noted in a file, line by line,
with the time: when a file was open for sure, what was written, what was put on disk.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

ROWS = 64
MADE = "made"  # an attribute of every file that was flushed once
OPEN_TRIES_MAX = 200
Step = list[Any]


class Actor:
    """One process: its open files, and what it has not yet put on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.files: dict[str, h5py.File] = {}
        self.inodes: dict[str, int] = {}
        self.pending: dict[str, list[str]] = {}  # by slot: written, not flushed
        self.written = 0
        self.notes = os.open(
            folder / f"{name}.notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )

    def note(self, act: str, **more: Any) -> None:
        line = {"act": act, "at": time.monotonic_ns(), "by": self.name, **more}
        os.write(self.notes, json.dumps(line).encode() + b"\n")

    def play(self, steps: list[Step]) -> None:
        for act, *asked in steps:
            try:
                getattr(self, act)(*asked)
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                kind = type(error).__name__
                self.note("failed", step=act, kind=kind, why=str(error)[:300])

    def open(self, slot: str, name: str, mode: str) -> None:
        if slot in self.files:
            return
        try:
            file = h5py.File(self.folder / name, mode)
        except OSError as error:
            if mode == "w" and not isinstance(error, BlockingIOError):
                self.note("unsure")  # HDF5 fails after it has truncated a file that is then renamed
            raise
        is_new = mode == "w" or (MADE not in file.attrs and not len(file))
        self._opened(slot, file, is_new=is_new)

    def write(self, slot: str) -> None:
        if slot in self.files:
            self.written += 1
            name = f"{self.name}.{self.written}"
            self.pending[slot].append(name)
            self.files[slot][name] = np.full(ROWS, self.written, "f8")

    def flush(self, slot: str) -> None:
        if slot in self.files:
            self.files[slot].flush()
            names, self.pending[slot] = self.pending[slot], []
            self.note("saved", inode=self.inodes[slot], names=names)

    def close(self, slot: str) -> None:
        if slot in self.files:
            self.note("closing", slot=slot, inode=self.inodes[slot], names=self.pending[slot])
            self.files.pop(slot).close()
            self.note("closed", slot=slot)

    def forget(self, slot: str) -> None:
        """The file object goes, nobody has called close."""
        if slot in self.files:
            self.note("closing", slot=slot, inode=self.inodes[slot], names=self.pending[slot])
            del self.files[slot]
            self.note("closed", slot=slot)

    def read(self, name: str) -> None:
        """Beside a writer a reader may see anything, and fail; it must do no harm."""
        failures = (OSError, RuntimeError, KeyError, ValueError)
        with contextlib.suppress(*failures), h5py.File(self.folder / name, "r") as file:
            for one in file:
                file[one][()]

    def threads(self, name: str) -> None:
        """Two of them open one file at once."""

        def once(slot: str) -> None:
            with contextlib.suppress(OSError, RuntimeError, ValueError, KeyError):
                self.open(slot, name, "r+")
                self.write(slot)
                self.close(slot)

        both = [threading.Thread(target=once, args=(f"thread-{at}",)) for at in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()

    def fork(self) -> None:
        """The child changes what it has from its parent, and closes it."""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        for file in self.files.values():
            with contextlib.suppress(Exception):
                file[f"{self.name}.child"] = np.zeros(5_000)
            with contextlib.suppress(Exception):
                file.close()
        os._exit(0)

    def rename(self, name: str, to: str) -> None:
        (self.folder / name).rename(self.folder / to)

    def unlink(self, name: str) -> None:
        (self.folder / name).unlink()

    def link(self, name: str, to: str) -> None:
        os.link(self.folder / name, self.folder / to)

    def pause(self, for_s: float) -> None:
        time.sleep(for_s)

    def die(self) -> None:
        """HDF5 does not survive a kill in the middle of its writes: what is unsaved may be torn."""
        for slot in self.files:
            if self.pending[slot]:
                self.note("torn", inode=self.inodes[slot])
        os.kill(os.getpid(), signal.SIGKILL)

    def die_opening(self, name: str, after_s: float) -> None:
        """Somewhere on the way into the file or out of it, which changes nothing there."""
        for slot in list(self.files):
            self.close(slot)
        timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
        for _ in range(OPEN_TRIES_MAX):
            with contextlib.suppress(OSError), h5py.File(self.folder / name, "r+"):
                pass
        timer.join()

    def end(self) -> None:
        """Files that are open are closed by HDF5 when the process ends."""
        for slot in self.files:
            self.note("ending", slot=slot, inode=self.inodes[slot], names=self.pending[slot])
        self.note("ended")

    def _opened(self, slot: str, file: h5py.File, *, is_new: bool) -> None:
        inode = os.fstat(file.id.get_vfd_handle()).st_ino
        self.files[slot], self.inodes[slot], self.pending[slot] = file, inode, []
        self.note("opened", slot=slot, inode=inode, is_new=is_new)
        if is_new:  # a file is none before it is flushed once
            file.attrs[MADE] = self.name
            file.flush()


def read_all(folder: Path, expected: dict[str, list[str]]) -> list[str]:
    """What is wrong with the files: they do not open, or what was saved is not there as it was."""
    wrong = []
    for name, saved in expected.items():
        try:
            with h5py.File(folder / name, "r", locking=False) as file:
                for one in saved:
                    rows = file[one][()]
                    if one != "rows" and (rows != float(one.rpartition(".")[2])).any():
                        wrong.append(f"{name}: {one} is not as it was written")
                for one in file:
                    file[one][()]
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}"[:300])
    return wrong


def serve(at: str) -> None:
    """Until the other side closes: one process for each line, and its answer when it has ended."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(at)
        for told in line.makefile("rb"):
            asked = json.loads(told)
            read, write = os.pipe()
            child = os.fork()
            if not child:
                os.close(read)
                line.close()
                _play(asked, write)
                return
            os.close(write)
            with os.fdopen(read, "rb") as file:
                said = file.read().decode()
            status = os.waitpid(child, 0)[1]
            line.sendall(json.dumps({"said": said, "status": status}).encode() + b"\n")


def _play(asked: dict[str, Any], write: int) -> None:
    folder = Path(asked["folder"])
    if "expected" in asked:
        os.write(write, json.dumps(read_all(folder, asked["expected"])).encode())
        return
    while time.monotonic() < asked["from_s"]:
        time.sleep(0.0005)
    actor = Actor(folder, asked["name"])
    actor.play([*asked["steps"], ["end"]])
    global _kept  # noqa: PLW0603 - as a program keeps its files: to the very end
    _kept = actor


_kept: Actor | None = None


if __name__ == "__main__":
    if len(sys.argv) > 2:
        from holdfast.rows import guard

        guard.install(sys.argv[2])
    serve(sys.argv[1])
