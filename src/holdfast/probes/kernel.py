"""The kernel's log: who was killed for memory, and by whose limit."""

import os
from dataclasses import dataclass

from holdfast.model.pattern import Pattern

RECORD_BYTES_MAX = 8_192
RECORDS_A_LOOK_MAX = 2_000

# oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=python,pid=7,uid=0
_CONSTRAINT = Pattern(
    r"oom-kill:constraint=(\w+),.*?(?:oom_memcg=([^,]*),)?(?:task_memcg=([^,]*),)?"
    r"task=([^,]*),pid=(\d+)"
)
_KILLED = Pattern(r"Killed process (\d+) \(([^)]*)\).*?anon-rss:(\d+)kB")


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
