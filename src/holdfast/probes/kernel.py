"""The kernel's log: who was killed for memory, and what it says of disks, GPUs and crashes."""

import os
from dataclasses import dataclass

from holdfast.model.pattern import Pattern

RECORD_BYTES_MAX = 8_192
RECORDS_A_LOOK_MAX = 2_000
WORDS_A_LOOK_MAX = 8
TEXT_LENGTH_MAX = 300
NAME_LENGTH_MAX = 64

# oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=python,pid=7,uid=0
_CONSTRAINT = Pattern(
    r"oom-kill:constraint=(\w+),.*?(?:oom_memcg=([^,]*),)?(?:task_memcg=([^,]*),)?"
    r"task=([^,]*),pid=(\d+)"
)
_KILLED = Pattern(r"Killed process (\d+) \(([^)]*)\).*?anon-rss:(\d+)kB")
# A disk: I/O error, dev sda, sector 8 op 0x1; EXT4-fs error (device loop0): ...
_DISKS = (
    Pattern(r"I/O error,? (?:on )?dev(?:ice)? ([\w.-]+)"),
    Pattern(r"(?:EXT[234]|BTRFS|F2FS)-?(?:fs)? (?:error|critical)[^(]*\(device ([\w.-]+)\)"),
    Pattern(r"XFS \(([\w.-]+)\): .*(?:I/O [Ee]rror|[Ss]hut|[Cc]orruption)"),
    Pattern(r"nfs: server (\S+) not responding"),
)
_SEGFAULT = Pattern(r"(?:traps: )?([^\s\[]+)\[(\d+)\]:? (?:segfault at|general protection|trap )")
_GPU = Pattern(r"NVRM: Xid \((?:PCI:)?([\w:.]+)\): \d+(?:, pid='?(\d+))?(?:.*?name=([^,\s]+))?")
_HUNG = Pattern(r"INFO: task (\S+):(\d+) blocked for more than")


@dataclass(frozen=True, slots=True)
class KernelWord:
    about: str  # io-error, segfault, gpu, hung-task
    text: str
    pid: int = 0  # or a thread's number
    process: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class OomKill:
    pid: int
    process: str
    rss_bytes: int
    cgroup: str  # empty: the host's memory, not a limit, ran out


class KernelLog:
    """Reads the records that came after it was opened. Never blocks."""

    def __init__(self) -> None:
        self.blind = ""
        self._fd = -1
        self._limit_of: dict[int, str] = {}
        try:
            self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            self.blind = f"/dev/kmsg cannot be read ({error.strerror})"

    def oom_kills(self) -> list[OomKill]:
        """The OOM kills since the last call."""
        return [kill for record in self._records() if (kill := self._parse(record))]

    def words(self) -> list[KernelWord]:
        """What it has said since the last call that may explain a task's trouble, bounded."""
        found = (word_in(record) for record in self._records())
        return [word for word in found if word][:WORDS_A_LOOK_MAX]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _records(self) -> list[str]:
        records: list[str] = []
        while self._fd >= 0 and len(records) < RECORDS_A_LOOK_MAX:
            try:
                record = os.read(self._fd, RECORD_BYTES_MAX)
            except BlockingIOError:
                break
            except BrokenPipeError:  # the ring wrapped over us: go on with what is left
                continue
            except OSError as error:
                self.blind = f"/dev/kmsg cannot be read ({error.strerror})"
                self.close()
                break
            records.append(record.decode("utf-8", "replace"))
        return records

    def _parse(self, record: str) -> OomKill | None:
        if limit := _CONSTRAINT.search(record):
            is_cgroup = limit.group(1) == "CONSTRAINT_MEMCG"
            self._limit_of[int(limit.group(5))] = (limit.group(2) or "/") if is_cgroup else ""
            return None
        killed = _KILLED.search(record)
        if not killed:
            return None
        pid = int(killed.group(1))
        default = "/" if "Memory cgroup out of memory" in record else ""
        return OomKill(
            pid=pid,
            process=killed.group(2),
            rss_bytes=int(killed.group(3)) * 1024,
            cgroup=self._limit_of.pop(pid, default),
        )


def word_in(record: str) -> KernelWord | None:
    """What a record of /dev/kmsg says of disks, GPUs, crashes and stuck processes."""
    text = record.partition(";")[2].partition("\n")[0][:TEXT_LENGTH_MAX]
    for disk in _DISKS:
        if found := disk.search(text):
            return KernelWord("io-error", text, device=_name(found.group(1)))
    if found := _GPU.search(text):
        pid, name = found.group(2), found.group(3)
        return KernelWord("gpu", text, int(pid or 0), _name(name), _name(found.group(1)))
    for about, pattern in (("segfault", _SEGFAULT), ("hung-task", _HUNG)):
        if found := pattern.search(text):
            return KernelWord(about, text, int(found.group(2)), _name(found.group(1)))
    return None


def process_of(thread: int) -> int:
    """The process a thread belongs to: the kernel's log names threads. 0: it is gone."""
    if thread <= 0:
        return 0
    try:
        with open(f"/proc/{thread}/status", "rb") as file:  # noqa: PTH123 - a few times a day
            lines = file.read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(b"Tgid:")), 0)


def _name(found: str | None) -> str:
    return (found or "")[:NAME_LENGTH_MAX]
