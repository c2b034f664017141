"""The kernel's word that something was opened or made in a folder, while nobody looked.

Every watch is for one event and then gone: whatever tasks do there, as many events come as we
asked for. The kernel does not tell who did it. Only for paths on this host's own file systems.
"""

import ctypes
import os
import struct
from dataclasses import dataclass

MADE, CLOSED, OPENED = 0x100, 0x8, 0x20  # IN_CREATE, IN_CLOSE_WRITE, IN_OPEN
FOLDER = 0x4000_0000  # IN_ISDIR, in what is heard: it was a folder that was made
_GONE = 0x8000 | 0x2000  # IN_IGNORED, IN_UNMOUNT: the watch is over
_LOST = 0x4000  # IN_Q_OVERFLOW
_ONCE, _NO_LINK = 0x8000_0000, 0x0200_0000  # IN_ONESHOT, IN_DONT_FOLLOW
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Heard:
    watch: int
    mask: int
    name: str  # within the folder; empty: the watched file itself


class Inotify:
    """Ears of its own; OSError where the kernel has none to give."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def watch_once(self, path: str, mask: int) -> int:
        """The number of a watch that ends with its first event; -1: it cannot be watched."""
        name = os.fsencode(path)
        return int(self._libc.inotify_add_watch(self.fd, name, mask | _ONCE | _NO_LINK))

    def forget(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self.fd, watch)

    def hear(self) -> list[Heard]:
        """What has come by now; it never waits."""
        try:
            text = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return []
        heard, at = [], 0
        while at < len(text):
            watch, mask, _, length = _HEAD.unpack_from(text, at)
            at += _HEAD.size + length
            if not mask & (_GONE | _LOST):
                name = os.fsdecode(text[at - length : at].rstrip(b"\0"))
                heard.append(Heard(watch, mask, name))
        return heard

    def close(self) -> None:
        os.close(self.fd)
