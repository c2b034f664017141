"""Lines of the kernel's log that may explain a task's trouble."""

import os
import threading
from pathlib import Path

import pytest

from holdfast.probes.kernel import KernelLog, KernelWord, process_of, word_in

HEAD = "4,1234,24654894398,-;"
# Those of loop devices and of segfaults were read from a kernel; the others are as the kernel's
# sources and NVIDIA's manual have them.
LINES = [
    (
        "I/O error, dev loop0, sector 28674 op 0x0:(READ) flags 0x8800 phys_seg 1 prio class 2",
        KernelWord("io-error", "", device="loop0"),
    ),
    (
        "Buffer I/O error on dev loop0, logical block 14337, lost async page write",
        KernelWord("io-error", "", device="loop0"),
    ),
    (
        "EXT4-fs error (device sda1): ext4_find_entry:1682: inode #2: comm python: reading lblock",
        KernelWord("io-error", "", device="sda1"),
    ),
    (
        "XFS (nvme0n1p2): log I/O error -5",
        KernelWord("io-error", "", device="nvme0n1p2"),
    ),
    (
        "nfs: server 10.0.0.9 not responding, still trying",
        KernelWord("io-error", "", device="10.0.0.9"),
    ),
    (
        "python[21785]: segfault at 0 ip 00007fa679b85ad8 sp 00007ffd9ad287e8 error 4 in libc.so.6",
        KernelWord("segfault", "", pid=21785, process="python"),
    ),
    (
        "traps: python3[77] trap invalid opcode ip:55d0 sp:7ffc error:0 in python3.11[55d0+1000]",
        KernelWord("segfault", "", pid=77, process="python3"),
    ),
    (
        "INFO: task python:2211 blocked for more than 120 seconds.",
        KernelWord("hung-task", "", pid=2211, process="python"),
    ),
    (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus.",
        KernelWord("gpu", "", pid=4711, process="python", device="0000:3b:00"),
    ),
    (
        "NVRM: Xid (PCI:0000:3b:00): 63, Row remapper: new row marked for remapping",
        KernelWord("gpu", "", device="0000:3b:00"),
    ),
    (
        "NVRM: Xid (PCI:0000:d8:00): 31, pid='<unknown>', name=<unknown>, Ch 00000008",
        KernelWord("gpu", "", process="<unknown>", device="0000:d8:00"),
    ),
    ("EXT4-fs (loop2): mounted filesystem d67211ee r/w with ordered data mode.", None),
    ("Memory cgroup out of memory: Killed process 21475 (python) total-vm:1105880kB", None),
    ("Freezing with imperfect legacy cgroup freezer. See cgroup.freeze of cgroup v2", None),
]


@pytest.mark.parametrize(("text", "expected"), LINES, ids=lambda value: str(value)[:30])
def test_a_line_is_understood(text: str, expected: KernelWord | None) -> None:
    word = word_in(f"{HEAD}{text}\n SUBSYSTEM=block\n")
    if expected is None:
        assert word is None
    else:
        assert word
        assert (word.about, word.pid, word.process, word.device) == (
            *(expected.about, expected.pid),
            *(expected.process, expected.device),
        )
        assert word.text == text


def test_a_thread_belongs_to_a_process() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(threading.get_native_id()))
    thread.start()
    thread.join()
    assert process_of(threading.get_native_id()) == os.getpid()
    assert process_of(0) == 0


@pytest.mark.skipif(
    not os.access("/dev/kmsg", os.W_OK), reason="only root may write to the kernel's log"
)
def test_only_what_came_later_is_read_and_never_waited_for() -> None:
    mark = f"python[{os.getpid()}]: segfault at 0 ip 0 sp 0 error 4 in holdfast-test"
    Path("/dev/kmsg").write_text(f"{mark} early\n")
    log = KernelLog()
    assert all("early" not in word.text for word in log.words())
    Path("/dev/kmsg").write_text(f"{mark} later\n")
    said = [word for word in log.words() if word.pid == os.getpid()]
    assert [word.text for word in said] == [f"{mark} later"]
    log.close()
    assert log.words() == []
