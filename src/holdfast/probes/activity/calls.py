"""System calls in which a process may stand for long, and the kernel's names for its waits.

Only those that say what a process is doing. On other machines than these two, and where the call
must not be read, the name of the kernel's function alone has to do.
"""

import os
from dataclasses import dataclass
from typing import Final

_X86_64: Final = (
    "0 read 1 write 2 open 7 poll 17 pread64 18 pwrite64 19 readv 20 writev "
    "23 select 26 msync 34 pause 35 nanosleep 40 sendfile 42 connect "
    "43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 61 wait4 65 semop "
    "72 fcntl 73 flock 74 fsync 75 fdatasync 77 ftruncate 128 rt_sigtimedwait "
    "130 rt_sigsuspend 202 futex 217 getdents64 219 restart_syscall "
    "220 semtimedop 230 clock_nanosleep 232 epoll_wait 247 waitid 257 openat "
    "270 pselect6 271 ppoll 275 splice 281 epoll_pwait 285 fallocate "
    "288 accept4 295 preadv 296 pwritev 299 recvmmsg 307 sendmmsg "
    "441 epoll_pwait2 "
)
_AARCH64: Final = (
    "22 epoll_pwait 25 fcntl 32 flock 46 ftruncate 47 fallocate 56 openat "
    "61 getdents64 63 read 64 write 65 readv 66 writev 67 pread64 68 pwrite64 "
    "69 preadv 70 pwritev 71 sendfile 72 pselect6 73 ppoll 76 splice 82 fsync "
    "83 fdatasync 95 waitid 98 futex 101 nanosleep 115 clock_nanosleep "
    "128 restart_syscall 133 rt_sigsuspend 137 rt_sigtimedwait 192 semtimedop "
    "193 semop 202 accept 203 connect 206 sendto 207 recvfrom 211 sendmsg "
    "212 recvmsg 227 msync 242 accept4 243 recvmmsg 260 wait4 269 sendmmsg "
    "441 epoll_pwait2 "
)


def _names(table: str) -> dict[int, str]:
    """`0 read 1 write` as {0: read, 1: write}."""
    words = table.split()
    return dict(zip(map(int, words[::2]), words[1::2], strict=True))


_NAMES: Final = {"x86_64": _names(_X86_64), "aarch64": _names(_AARCH64)}

READS: Final = frozenset(
    {"read", "pread64", "readv", "preadv", "getdents64", "recvfrom", "recvmsg", "recvmmsg"}
)
WRITES: Final = frozenset(
    {
        *("write", "pwrite64", "writev", "pwritev", "fsync", "fdatasync", "ftruncate"),
        *("fallocate", "sendto", "sendmsg", "sendmmsg", "sendfile"),
    }
)
ASKS_SOCKET: Final = frozenset({"connect", "accept", "accept4"})
SLEEPS: Final = frozenset({"nanosleep", "clock_nanosleep"})
SIGNALS: Final = frozenset({"pause", "rt_sigtimedwait", "rt_sigsuspend"})
POLLS: Final = frozenset(
    {"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"}
)
CHILDREN: Final = frozenset({"wait4", "waitid"})
LOCKS: Final = frozenset({"flock", "fcntl"})
OPENS: Final = frozenset({"open", "openat"})

# Parts of names of the kernel's functions -> what a process is doing that waits there.
_CHANNELS: Final = (
    *((word, "disk") for word in ("request_wait_answer", "rpc_wait", "nfs_", "io_schedule")),
    *((word, "waits-for-lock") for word in ("flock_lock", "locks_lock", "posix_lock", "setlk")),
    *((word, "waits-for-thread") for word in ("futex",)),
    *((word, "waits-for-child") for word in ("do_wait", "do_waitid", "kernel_wait4")),
    *((word, "sleeps") for word in ("nanosleep", "sigsuspend", "sigtimedwait", "sys_pause")),
    *((word, "polls") for word in ("poll", "do_select")),
    *((word, "reads") for word in ("pipe_read", "pipe_wait", "fifo_open", "wait_for_partner")),
    *((word, "reads") for word in ("n_tty_read", "eventfd_read", "inotify_read")),
    *((word, "writes") for word in ("pipe_write", "n_tty_write")),
    *((word, "waits-for-socket") for word in ("recvmsg", "wait_data", "wait_for_more_packets")),
    *((word, "waits-for-socket") for word in ("unix_stream", "accept", "wait_for_connect")),
    *((word, "waits-for-socket") for word in ("stream_wait_memory", "sendmsg", "sock_alloc")),
)


@dataclass(frozen=True, slots=True)
class Call:
    """What the main thread of a process is in."""

    name: str = ""  # empty: in none that we know
    arguments: tuple[int, ...] = ()
    is_running: bool = False  # on a core, or about to be

    def argument(self, number: int) -> int:
        """As the C int that most of these are; 0 where there is none."""
        word = self.arguments[number] & 0xFFFF_FFFF if number < len(self.arguments) else 0
        return word - (1 << 32) if word >> 31 else word


def call_in(text: str, machine: str = os.uname().machine) -> Call:
    """What /proc/PID/syscall says: `running`, or the number, the arguments and two registers."""
    first, *rest = text.split() or [""]
    if first == "running":
        return Call(is_running=True)
    name = _NAMES.get(machine, {}).get(int(first)) if first.isdigit() else None
    return Call(name, tuple(int(word, 16) for word in rest[:6])) if name else Call()


def does_in(channel: str) -> str:
    """What a process does by the kernel's function alone; empty where that tells nothing."""
    return next((does for word, does in _CHANNELS if word in channel), "")
