"""How busy this host is, and who else keeps it busy."""

import os
import subprocess
import sys
import time
from pathlib import Path

from holdfast.probes.pressure import OtherPrograms, host_use

BUSY = "while True: sum(range(10_000))"


def test_the_host_counts_its_cores_and_memory() -> None:
    before = host_use()
    assert before.cpus == len(os.sched_getaffinity(0)) or before.cpus > 0
    assert 0 < before.memory_free_bytes <= before.memory_bytes
    after = host_use()
    assert after.total_s >= before.total_s >= before.busy_s > 0
    assert all(seconds >= 0 for seconds in after.stalls_s.values())


def test_another_program_that_uses_a_core_is_named_and_our_own_are_not() -> None:
    others, without = OtherPrograms(), OtherPrograms()
    with subprocess.Popen([sys.executable, "-c", BUSY]) as hog:
        name = Path(sys.executable).name[:15]  # as the kernel keeps it, once it has begun
        began_s = time.monotonic()
        assert others.cores_used(0.0, ours={os.getppid() + 10**7}) == {}
        assert without.cores_used(0.0, ours={os.getpid()}) == {}
        used = without_us = {}
        while name not in used and time.monotonic() - began_s < 20:
            time.sleep(0.3)
            passed_s = time.monotonic() - began_s
            used = others.cores_used(passed_s, ours=())
            without_us = without.cores_used(passed_s, ours={hog.pid})
        hog.kill()
    assert used[name] > without_us.get(name, 0.0)


def test_what_was_counted_long_ago_is_forgotten() -> None:
    others = OtherPrograms()
    others.cores_used(0.0, ours=())
    others.forget()
    assert others.cores_used(1.0, ours=()) == {}
    assert others.cores_used(1.0, ours=()) == {}, "no time has passed"
