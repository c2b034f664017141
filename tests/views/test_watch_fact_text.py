"""What is seen of a training job, as a person reads it."""

from typing import Any

import pytest

from holdfast.model import watch_facts as facts
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.views.fact_text import fact_text

HERE: Any = {"at_s": 9.0, "host": "host-a"}
PEER = TaskId("ps", 0)
STACK = facts.ThreadStack(thread=1, frames=("a.py:1 main: go()", "b.py:7 wait: lock.acquire()"))
SENTENCES: list[tuple[Fact, str]] = [
    (facts.StepsSeen(step=40, source="log", **HERE), "at step 40 (log)"),
    (
        facts.StepsSeen(step=40, source="log", step_s=0.25, **HERE),
        "at step 40, 250 ms a step (log)",
    ),
    (
        facts.FolderWritten(what="summaries", folder="/data/logs", **HERE),
        "writes summaries into /data/logs",
    ),
    (facts.FileWritten(path="/data/all.h5", **HERE), "writes /data/all.h5"),
    (
        facts.FileWritten(path="/data/all.h5", beside=("worker:1", "worker:2"), **HERE),
        "writes /data/all.h5, beside worker:1 and worker:2",
    ),
    (
        facts.TaskStill(still_s=12.0, usual_s=2.0, sign="steps", cpu_share=1.0, **HERE),
        (
            "its steps stand still for 12 s, while it used 100% of a core; it never paused for more"
            " than 2 s before"
        ),
    ),
    (
        facts.TaskStill(still_s=12.0, usual_s=0.0, sign="processes", **HERE),
        "its processes stand still for 12 s; it has no habit yet",
    ),
    (facts.TaskMoves(still_s=12.0, **HERE), "goes on, after 12 s"),
    (
        facts.TaskSlow(factor=3.14, step_s=0.9, others_s=0.3, **HERE),
        "3.1 times as slow as the others: 900 ms a step, theirs 300 ms",
    ),
    (facts.TaskSlow(factor=1.0, step_s=0.3, others_s=0.3, **HERE), "as fast as the others again"),
    (
        facts.TaskSampled(pid=7, state="S", over_s=10.0, cpu_share=0.5, rss_bytes=2**30, **HERE),
        "over 10 s it used 50% of a core, 1.0 GiB of memory (state S)",
    ),
    (
        facts.TaskSampled(
            pid=7,
            state="S",
            over_s=10.0,
            cpu_share=0.5,
            read_bytes_per_s=3.5 * 2**20,
            written_bytes_per_s=512.0,
            **HERE,
        ),
        "over 10 s it used 50% of a core, 0 bytes of memory, read 3.5 MiB/s (state S)",
    ),
    (
        facts.LinksSampled(
            over_s=10.0,
            sent_bytes_per_s={"worker:0": 2.0 * 2**20, "worker:1": 9.0},
            received_bytes_per_s={"worker:0": 2.0**20, "worker:1": 9.0},
            network_share={"worker:0": 0.9, "worker:1": 0.0},
            **HERE,
        ),
        (
            "1.0 MiB/s in and 2.0 MiB/s out with worker:0; what it sent waited for the network, of"
            " the time: worker:0 90%"
        ),
    ),
    (
        facts.LinksSampled(
            over_s=10.0,
            sent_bytes_per_s={"worker:1": 9.0},
            received_bytes_per_s={"worker:1": 9.0},
            network_share={"worker:1": 0.0},
            **HERE,
        ),
        "its links to other tasks carried next to nothing",
    ),
    (
        facts.MemoryNearlyFull(used_bytes=2**30, limit_bytes=2**30, lasting_s=60.0, **HERE),
        "1.0 GiB of the 1.0 GiB of the host are used, for 60 s by now",
    ),
    (
        facts.MemoryNearlyFull(
            used_bytes=2**30, limit_bytes=2**30, lasting_s=60.0, limit_of="memory/a", **HERE
        ),
        "1.0 GiB of the 1.0 GiB of memory/a are used, for 60 s by now",
    ),
    (
        facts.HostSampled(
            over_s=5.0,
            cpus=2,
            busy_share=0.5,
            memory_bytes=2**31,
            memory_free_bytes=2**30,
            received_bytes_per_s={"eth0": 2.0 * 2**20, "lo": 9.0},
            sent_bytes_per_s={"eth0": 2.0**20, "lo": 9.0},
            read_bytes_per_s=-1.0,
            written_bytes_per_s=4.0 * 2**20,
            disk_busy_share=0.62,
            **HERE,
        ),
        (
            "2 cores 50% busy, 1.0 GiB of memory free, 2.0 MiB/s in and 1.0 MiB/s out over eth0,"
            " its disks wrote 4.0 MiB/s, the busiest disk worked 62% of the time"
        ),
    ),
    (
        facts.TaskSampled(
            pid=7,
            state="D",
            over_s=10.0,
            cpu_share=0.0,
            starved_share=0.5,
            throttled_share=0.25,
            storage_share=0.9,
            waits_in="futex",
            **HERE,
        ),
        (
            "over 10 s it used 0% of a core, 0 bytes of memory, wanted a core and got none 50%"
            " of the time, was kept from running by its cgroup 25% of the time, waited for storage"
            " 90% of the time (state D), its main thread waits in futex"
        ),
    ),
    (
        facts.TaskSampled(
            pid=7,
            state="S",
            over_s=10.0,
            cpu_share=0.02,
            throttled_share=0.9,
            threads_starved_share=0.5,
            quota_cores=0.02,
            quota_of="cpu/a",
            **HERE,
        ),
        (
            "over 10 s it used 2% of a core, 0 bytes of memory, had threads that waited for a core"
            " 50% of it, was kept from running by its cgroup of 0.02 cores 90% of the time (state"
            " S)"
        ),
    ),
    (
        facts.HostSampled(
            over_s=10.0,
            cpus=2,
            busy_share=0.99,
            memory_bytes=2**34,
            memory_free_bytes=2**33,
            segments_sent=1000,
            segments_again=50,
            others={"stress": 1.5},
            **HERE,
        ),
        (
            "2 cores 99% busy (other programs, in cores: stress 1.5), 8.0 GiB of memory free, 5.0%"
            " of its TCP segments were sent again"
        ),
    ),
    (
        facts.HostSampled(
            over_s=1.0, cpus=2, busy_share=0.5, memory_bytes=1, memory_free_bytes=1, **HERE
        ),
        "2 cores 50% busy, 1 bytes of memory free",
    ),
    (
        facts.GpuSampled(
            gpu=1,
            name="A100",
            memory_bytes=2**35,
            memory_used_bytes=2**34,
            busy_share=0.5,
            celsius=91,
            slowed_by="heat",
            errors_not_corrected=2,
            **HERE,
        ),
        (
            "GPU 1 (A100): 16.0 GiB of 32.0 GiB used, 50% busy, 91 degrees, slowed down by heat,"
            " 2 memory errors not corrected"
        ),
    ),
    (
        facts.GpuSampled(gpu=0, name="T4", memory_bytes=2**34, memory_used_bytes=0, **HERE),
        "GPU 0 (T4): 0 bytes of 16.0 GiB used",
    ),
    (
        facts.FilesNearLimit(pid=7, used=760, limit=1024, left_s=21.0, **HERE),
        "760 files are open, of 1024 that it may, at its limit in 21 s",
    ),
    (
        facts.FilesNearLimit(pid=7, used=950, limit=1024, **HERE),
        "950 files are open, of 1024 that it may",
    ),
    (
        facts.MemoryNearsLimit(
            used_bytes=2**30, limit_bytes=2**31, growth_bytes_per_s=2**24, left_s=64.0, **HERE
        ),
        "1.0 GiB of the 2.0 GiB of the host are used, 16.0 MiB more every second: gone in 64 s",
    ),
    (
        facts.LinkSeen(
            peer=PEER, address="b:1", send_bytes=196, retransmits=3, lasting_s=4.0, **HERE
        ),
        "196 bytes to ps:0 at b:1 stay unacknowledged for 4 s, sent again 3 times",
    ),
    (
        facts.LinkSeen(
            peer=PEER, address="b:1", send_bytes=196, lasting_s=4.0, recovered=2, **HERE
        ),
        "196 bytes to ps:0 at b:1 stay unacknowledged for 4 s; 2 times before it got through",
    ),
    (
        facts.LinkSeen(peer=PEER, address="b:1", recv_bytes=8, lasting_s=4.0, **HERE),
        "8 bytes from ps:0 at b:1 stay unread for 4 s",
    ),
    (facts.LinkSeen(peer=PEER, address="b:1", **HERE), "its connection to ps:0 at b:1 flows again"),
    (
        facts.StacksSeen(pid=7, threads=(STACK,), **HERE),
        "stacks of 1 threads by py-spy, the first in b.py:7 wait: lock.acquire()",
    ),
    (facts.StacksSeen(pid=7, threads=(), **HERE), "stacks of 0 threads by py-spy"),
    (facts.KernelSaid(about="io-error", text="I/O error", **HERE), "the kernel says: I/O error"),
    (facts.ObserverLate(late_s=3.0, **HERE), "the watcher did not get to look for 3 s"),
    (
        facts.StateChanged(state="stopped", before="training", says="SIGSTOP", **HERE),
        "training -> stopped: SIGSTOP",
    ),
    (
        facts.TakenOver(gone_s=6.0, pid=12, **HERE),
        "a new supervisor took over from pid 12, which had been gone for 3 s",
    ),
]


@pytest.mark.parametrize(("fact", "sentence"), SENTENCES, ids=lambda value: type(value).__name__)
def test_a_fact_is_one_sentence(fact: Fact, sentence: str) -> None:
    assert fact_text(fact) == sentence
