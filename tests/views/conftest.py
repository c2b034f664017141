"""A made-up run: ps:0 runs out of memory, and everybody who needs it suffers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast.logdir.run_dir import log_name
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    CgroupKilledForMemory,
    DiskMeasured,
    Fact,
    KernelKilledForMemory,
    LastWords,
    LogLine,
    OutputEnded,
    TaskExited,
)
from holdfast.model.findings import (
    Cause,
    Confidence,
    Diagnosis,
    Echo,
    Finding,
    Proof,
    Severity,
    Verdict,
)
from holdfast.model.log_facts import LogsGiven
from holdfast.model.remedies import AskHuman
from holdfast.views.report import report

HOST = "gpu-07"
PS, WORKER_0, WORKER_1 = TaskId("ps", 0), TaskId("worker", 0), TaskId("worker", 1)
CGROUP = "/holdfast.slice/mnist/ps-0"
START = AttemptStarted(
    at_s=0.0,
    host=HOST,
    began_unix_s=1794765736.0,  # 2026-11-15 18:02:16 UTC
    tasks=("ps:0", "worker:0", "worker:1", "worker:2", "chief:0"),
    holdfast="0.1.0",
)
EXITED = TaskExited(at_s=42.12, host=HOST, task=PS, signal=9)
KILLED = KernelKilledForMemory(
    at_s=42.05, host=HOST, task=PS, pid=4121, process="python", rss_bytes=19 << 30, cgroup=CGROUP
)
COUNTED = CgroupKilledForMemory(
    at_s=42.06, host=HOST, task=PS, cgroup=CGROUP, kills=1, limit_bytes=18 << 30
)
WAITING = tuple(
    LogLine(
        at_s=43.0 + number,
        host=HOST,
        task=WORKER_0,
        text="master.cc:268] \x1b[31mCreateSession still waiting\x1b[0m WANDB_API_KEY=abcdef",
        line=120 + number,
        offset=9000 + number,
    )
    for number in range(25)
)
FULL = DiskMeasured(
    at_s=1.0, host=HOST, path="/scratch", free_bytes=900 << 20, total_bytes=2 << 40, purpose="logs"
)


@pytest.fixture
def evidence() -> Evidence:
    return Evidence([START, EXITED, KILLED, COUNTED, FULL, *WAITING])


@pytest.fixture
def out_of_memory() -> Finding:
    suffering = [TaskId("worker", index) for index in range(3)]
    return Finding(
        name="cgroup-out-of-memory",
        cause=_cause("oom-host", Severity.ERROR),
        proof=Proof(
            facts=(EXITED, KILLED, COUNTED),
            says="ps:0 was killed by the kernel: its memory cgroup reached its limit of 18.0 GiB",
            culprit=PS,
            do=("give ps:0 at least 22 GiB of memory", "or spread its variables: --ps 2"),
        ),
        echoes=(
            *(
                Echo(task=task, cause="peer-gone", says="waits for ps:0", since_s=43.0)
                for task in suffering
            ),
            Echo(task=TaskId("chief", 0), cause="deadline", says="waits for ps:0", since_s=50.0),
        ),
    )


@pytest.fixture
def disk_nearly_full() -> Finding:
    return Finding(
        name="disk-nearly-full",
        cause=_cause("disk-full", Severity.WARNING),
        proof=Proof(
            facts=(FULL, *WAITING),
            says="only 0.9 GiB is left on the disk that holds the logs.",
            culprit=None,
            confidence=Confidence.LIKELY,
        ),
    )


@pytest.fixture
def sick(out_of_memory: Finding, disk_nearly_full: Finding) -> Diagnosis:
    return Diagnosis(
        verdict=Verdict.SICK,
        findings=(out_of_memory, disk_nearly_full),
        unknown=("no stack from ps:0: it was gone before the capture",),
        broken={"grpc-odd": "KeyError('x')"},
    )


@pytest.fixture
def unexplained() -> tuple[Diagnosis, Evidence]:
    """worker:1 failed, and what it said last tells nothing."""
    words = (
        "Traceback (most",
        '  File "\x1b]0;x\x07train.py"',
        "token=abcdef giving up" + "!" * 600,
    )
    seen = Evidence(
        [
            START,
            TaskExited(at_s=9.0, host=HOST, task=WORKER_1, exit_code=3),
            LastWords(at_s=9.0, host=HOST, task=WORKER_1, lines=words),
        ]
    )
    diagnosis = Diagnosis(
        verdict=Verdict.CANNOT_TELL,
        healthy=(PS, WORKER_0),
        unknown=("why worker:1 ended with exit code 3: nothing it left behind proves a cause",),
        broken={},
    )
    return diagnosis, seen


def _cause(family: str, severity: Severity) -> Cause:
    def detect(evidence: Evidence) -> Iterator[Proof]:
        return iter(())

    return Cause(family=family, detect=detect, remedy=AskHuman(), severity=severity)


@pytest.fixture
def from_logs() -> Callable[..., dict[str, Any]]:
    return _from_logs


def _from_logs(*, last: str = "Socket closed", dated: bool = True) -> dict[str, Any]:
    """The report on four logs that somebody handed us: ps:0 could not write, the others lost it."""
    files = {PS: "ps-0.err", WORKER_0: "worker-0.err", WORKER_1: "worker-1.err"}

    def line(at_s: float, task: TaskId, text: str, number: int) -> LogLine:
        return LogLine(at_s=at_s, host="", task=task, text=text, line=number, source=files[task])

    full = line(42.1, PS, "OSError: [Errno 28] No space left on device: '/data/ckpt-40'", 120)
    lost = [line(43.2, WORKER_0, "failed to connect to all addresses", 301)]
    lost += [line(44.9, WORKER_1, last, 288)]
    facts: list[Fact] = [LogsGiven(at_s=0.0, host="", sources=tuple(files.values())), full, *lost]
    facts += [replace(START, at_s=0.0, host="", tasks=())] if dated else []
    for at_s, (task, source) in enumerate(files.items(), start=50):
        words = LastWords(at_s=at_s, host="", task=task, lines=("step 4", ""), source=source)
        facts += [words, _ended(at_s, task, source, lines=1_200)]
    facts.append(_ended(0.0, None, "logs/job.log", lines=1))
    found = Finding(
        name="disk-full",
        cause=_cause("disk-full", Severity.ERROR),
        proof=Proof(
            facts=(full,),
            says="ps:0 could not write at /data/ckpt-40: the disk is full",
            culprit=PS,
            confidence=Confidence.HIGH,
            do=("free space: df -h /data",),
        ),
        echoes=tuple(
            Echo(task=fact.task, cause="peer-gone", says="lost", since_s=fact.at_s, facts=(fact,))
            for fact in lost
            if fact.task
        ),
    )
    diagnosis = Diagnosis(verdict=Verdict.SICK, findings=(found,), broken={})
    return report(diagnosis, Evidence(facts), log_name=log_name)


def _ended(at_s: float, task: TaskId | None, source: str, *, lines: int) -> OutputEnded:
    return OutputEnded(
        at_s=at_s,
        host="",
        task=task,
        stream="err",
        source=source,
        bytes_total=lines * 100,
        lines_total=lines,
        lines_heard=0,
    )
