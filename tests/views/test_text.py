"""What a person reads: complete, aligned, and within the width."""

import unicodedata
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis, Finding, Verdict
from holdfast.views.report import report
from holdfast.views.sanitise import cells, plain
from holdfast.views.task_names import task_names
from holdfast.views.text import report_text
from holdfast.views.wrap import wrapped

SICK_80 = """\
error[cgroup-out-of-memory]: ps:0 was killed by the kernel: its memory cgroup
    reached its limit of 18.0 GiB
  --> ps:0 on gpu-07 · since 2026-11-15 18:02:58 UTC · confidence: certain
   |
   | 18:02:58  ps:0  kernel killed pid 4121 (python) at 19.0 GiB: memory cgroup
   |                 /holdfast.slice/mnist/ps-0
   | 18:02:58  ps:0  kernel killed for memory once in cgroup
   |                 /holdfast.slice/mnist/ps-0, whose limit is 18.0 GiB
   | 18:02:58  ps:0  ended on SIGKILL (signal 9)
   |
   = cause    host memory ran out (oom-host)
   = victims  worker:0-2 (peer-gone), chief:0 (deadline): these are
              consequences, not causes
   = healthy  no task is known to be well
   = unknown  no stack from ps:0: it was gone before the capture
   = broken   our rule grpc-odd crashed, so it proves nothing: KeyError('x')
   = fix      give ps:0 at least 22 GiB of memory
              or spread its variables: --ps 2
   = help     holdfast explain cgroup-out-of-memory

warning[disk-nearly-full]: only 0.9 GiB is left on the disk that holds the logs
  --> host gpu-07 · since 2026-11-15 18:02:17 UTC · confidence: likely
   |
   | 18:02:17  -         900.0 MiB of 2.0 TiB free in /scratch (logs)
   | 18:02:59  worker:0  master.cc:268] CreateSession still waiting
   |                     WANDB_API_KEY=«redacted:secret»
   |                     (\u00d719) [logs/worker-0.1.err:120]
   |
   = cause    no space left on a device (disk-full)
   = fix      see `holdfast explain disk-nearly-full`

sick: 1 error, 1 warning; the root cause is cgroup-out-of-memory at ps:0
"""


def log_name(task: TaskId, attempt: int, stream: str) -> str:
    return f"logs/{task.role}-{task.index}.{attempt}.{stream}"


def shown(made: dict[str, Any], *, width: int = 80, colour: bool = False) -> str:
    return report_text(made, width=width, colour=colour, zone=UTC)


def test_a_sick_job_at_80_columns(sick: Diagnosis, evidence: Evidence) -> None:
    assert shown(report(sick, evidence, log_name=log_name)) == SICK_80


@pytest.mark.parametrize("width", [48, 60, 80, 160])
def test_no_row_is_wider_than_the_terminal(
    sick: Diagnosis, evidence: Evidence, unexplained: tuple[Diagnosis, Evidence], width: int
) -> None:
    diagnosis, seen = unexplained
    for made in (
        report(sick, evidence, log_name=log_name),
        report(diagnosis, seen, log_name=log_name),
    ):
        for row in shown(made, width=width).splitlines():
            assert cells(row) <= width
            assert row == row.rstrip()


def test_colour_adds_nothing_but_colour(sick: Diagnosis, evidence: Evidence) -> None:
    made = report(sick, evidence, log_name=log_name)
    coloured = shown(made, colour=True)
    assert "\x1b[1;31merror[cgroup-out-of-memory]\x1b[0m" in coloured
    assert "\n".join(plain(row) for row in coloured.split("\n")) == shown(made)


def test_a_healthy_job_gets_one_calm_line(evidence: Evidence) -> None:
    tasks = (TaskId("ps", 0), *(TaskId("worker", index) for index in range(8)))
    diagnosis = Diagnosis(verdict=Verdict.HEALTHY, healthy=tasks, broken={})
    made = report(diagnosis, Evidence([]), log_name=log_name)
    assert shown(made) == "healthy: nothing wrong was found; all is well with ps:0 worker:0-7\n"


def test_a_healthy_job_with_a_warning_says_both(
    disk_nearly_full: Finding, evidence: Evidence
) -> None:
    diagnosis = Diagnosis(verdict=Verdict.HEALTHY, findings=(disk_nearly_full,), broken={})
    text = shown(report(diagnosis, evidence, log_name=log_name))
    assert text.startswith("warning[disk-nearly-full]")
    assert text.endswith("\nhealthy: no task failed; 1 warning above\n")


def test_cannot_tell_shows_the_last_words_and_the_logs(
    unexplained: tuple[Diagnosis, Evidence],
) -> None:
    diagnosis, seen = unexplained
    text = shown(report(diagnosis, seen, log_name=log_name))
    assert text.startswith("cannot tell: worker:1 failed, and nothing seen proves why\n")
    assert "last words of worker:1 (logs: logs/worker-1.1.err, logs/worker-1.1.out)" in text
    assert '\n   |     File "train.py"\n' in text
    assert "= healthy  ps:0 worker:0\n" in text
    assert "= unknown  why worker:1 ended with exit code 3" in text


def test_nothing_seen_is_not_healthy() -> None:
    made = report(
        Diagnosis(verdict=Verdict.CANNOT_TELL, broken={}), Evidence([]), log_name=log_name
    )
    assert shown(made) == "cannot tell: there are no facts to judge by\n"


def test_a_report_from_a_strangers_file_is_sanitised(sick: Diagnosis, evidence: Evidence) -> None:
    made = report(sick, evidence, log_name=log_name)
    made["findings"][0] |= {"says": "\x1b[2Jx", "cause": "\x1b]0;x\x07c", "host": "\u202eh"}
    made["findings"][0]["evidence"][0] |= {"text": "\x9b2J", "task": "\x1b[1mt", "file": "\x07"}
    made["unknown"] = ["\x1bc"]
    bad = {char for char in shown(made) if unicodedata.category(char) in ("Cc", "Cf")}
    assert bad == {"\n"}


def test_task_names_are_folded_into_ranges() -> None:
    names = ["ps:0", "worker:3", "worker:0", "worker:1", "worker:2", "worker:7", "worker:8"]
    assert task_names(names) == "ps:0 worker:0-3 worker:7 worker:8"


@given(st.text(st.sampled_from("ab 日é"), max_size=200), st.integers(min_value=16, max_value=40))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    rows = wrapped(text, width)
    assert all(cells(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
