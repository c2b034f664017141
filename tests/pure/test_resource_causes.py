"""Causes that speak of resources, where a fixture would only repeat itself."""

from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    DiskMeasured,
    Fact,
    ProcessSeen,
    SignalSent,
    TaskExited,
    TracebackSeen,
)
from holdfast.model.watch_facts import HostSampled, KernelSaid, TaskSampled

A, B = TaskId("worker", 0), TaskId("worker", 1)
STARTED = AttemptStarted(
    at_s=0.0, host="h", began_unix_s=1.0, tasks=("worker:0", "worker:1"), holdfast="0"
)


def found(*facts: Fact) -> list[tuple[str, str]]:
    diagnosis = diagnose(Evidence([STARTED, *facts]))
    assert not diagnosis.broken
    return [(one.name, str(one.proof.culprit)) for one in diagnosis.findings]


def seen(at_s: float, state: str, **more: Any) -> ProcessSeen:
    return ProcessSeen(at_s=at_s, host="h", task=B, pid=7, state=state, **more)


def died(at_s: float, task: TaskId = A) -> TaskExited:
    return TaskExited(at_s=at_s, host="h", task=task, exit_code=1)


def test_who_is_stopped_while_the_job_is_ended_is_not_accused() -> None:
    end = SignalSent(at_s=5.0, host="h", task=A, signal=15, why="asked")
    assert found(end, seen(6.0, "T", lasting_s=1.0)) == []


def test_a_stop_of_two_seconds_is_not_why_another_failed() -> None:
    brief = (seen(5.0, "T", lasting_s=1.0), seen(6.0, "S"))
    assert found(*brief, died(8.0)) == [("ended-badly", "worker:0")]


def test_a_stop_that_is_over_before_anybody_could_notice_harmed_nobody() -> None:
    short = (seen(5.0, "T", lasting_s=2.5), seen(6.0, "S"))
    assert found(*short, died(8.0)) == [("ended-badly", "worker:0")]


def test_a_stop_of_ten_seconds_that_is_over_is_why_another_failed() -> None:
    long = (seen(5.0, "T", lasting_s=1.0), seen(15.0, "T", lasting_s=11.0), seen(16.0, "S"))
    assert found(*long, died(17.0)) == [("stopped", "worker:1")]
    assert found(*long, died(40.0)) == [("ended-badly", "worker:0")]
    assert found(*long, died(17.0, B)) == [("stopped", "worker:1")]


def test_a_task_that_was_started_again_is_another_process() -> None:
    again = ProcessSeen(at_s=6.0, host="h", task=B, pid=8, state="T", lasting_s=0.0)
    assert found(seen(5.0, "T"), again) == []


@pytest.mark.parametrize(
    ("failed_s", "first"), [(20.0, "hardware-error"), (200.0, "user-exception")]
)
def test_who_fails_long_after_an_error_of_its_disk_fails_for_its_own_reason(
    failed_s: float, first: str
) -> None:
    room = DiskMeasured(
        at_s=1.0, host="h", task=A, path="/d", free_bytes=9, total_bytes=9, device="sda1"
    )
    said = KernelSaid(at_s=10.0, host="h", about="io-error", text="I/O error", device="sda")
    words = TracebackSeen(
        at_s=failed_s, host="h", task=A, exception="OSError", message="[Errno 5] Input/output error"
    )
    assert found(room, said, words, died(failed_s))[0] == (first, "worker:0")


def hogged(at_s: float, **others: float) -> HostSampled:
    return HostSampled(
        at_s=at_s,
        host="h",
        over_s=5.0,
        cpus=2,
        busy_share=1.0,
        memory_bytes=9,
        memory_free_bytes=5,
        others=others,
    )


def starved(at_s: float, **more: Any) -> TaskSampled:
    given: dict[str, Any] = {"cpu_share": 0.3, "starved_share": 0.7, **more}
    return TaskSampled(at_s=at_s, host="h", task=A, pid=7, state="R", over_s=10.0, **given)


STARVED = (starved(10.0), starved(15.0), starved(20.0), starved(25.0))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param((hogged(9.0, stress=1.5), hogged(24.0, stress=1.5)), True, id="others"),
        pytest.param((hogged(24.0),), False, id="nobody else"),
        pytest.param((hogged(9.0), hogged(24.0, stress=1.5)), False, id="only for a moment"),
        pytest.param((), False, id="nobody looked at the host"),
    ],
)
def test_a_task_is_starved_only_by_others(facts: tuple[Fact, ...], expected: bool) -> None:  # noqa: FBT001
    assert found(*STARVED, *facts) == ([("cpu-starved", "worker:0")] if expected else [])


def test_who_is_at_its_own_quota_is_not_starved_by_others() -> None:
    at_quota = [starved(at_s, quota_cores=0.3) for at_s in (10.0, 15.0, 20.0, 25.0)]
    assert found(*at_quota, hogged(24.0, stress=1.5)) == []
