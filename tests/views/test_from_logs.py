"""A report from logs alone: what it holds, and how a person reads it at any width."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest

from holdfast.diagnose import catalogue
from holdfast.logdir.run_dir import log_name
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LastWords, LogLine, OutputEnded
from holdfast.model.findings import Cause, Diagnosis, Finding, Proof, Verdict
from holdfast.model.log_facts import LogsGiven
from holdfast.model.remedies import AskHuman
from holdfast.views.github import report_github
from holdfast.views.junit import report_junit
from holdfast.views.report import SILENT_MAX, report
from holdfast.views.sanitise import cells
from holdfast.views.sarif import report_sarif
from holdfast.views.text import report_text

Made = Callable[..., dict[str, Any]]
AT_80 = """\
error[disk-full]: ps:0 could not write at /data/ckpt-40: the disk is full
  --> ps:0 · since 2026-11-15 18:02:58 UTC · confidence: high
   |
   | 18:02:58  ps:0  OSError: [Errno 28] No space left on device:
   |                 '/data/ckpt-40' [ps-0.err:120]
   |
   | Who said what first, and who only after it:
   |   18:02:58.1  ps:0      first  OSError: [Errno 28] No space left on device…
   |   18:02:59.2  worker:0  echo   failed to connect to all addresses
   |   18:03:00.9  worker:1  echo   Socket closed
   |   18:03:06.0  ps:0      end    falls silent after: step 4
   |   18:03:07.0  worker:0  end    falls silent after: step 4
   |   18:03:08.0  worker:1  end    falls silent after: step 4
   |
   = cause    no space left on a device (disk-full)
   = victims  worker:0 worker:1 (peer-gone): these are consequences, not causes
   = read     4 files (3,601 lines), 351.7 KiB, of ps:0 worker:0 worker:1
              not known whose log it is: logs/job.log
   = fix      free space: df -h /data
   = help     holdfast explain disk-full
"""


def shown(made: dict[str, Any], *, width: int = 80) -> str:
    return report_text(made, width=width, colour=False, zone=UTC)


def test_a_person_sees_who_was_first_and_what_was_read(from_logs: Made) -> None:
    assert shown(from_logs()) == AT_80


@pytest.mark.parametrize("width", [48, 64, 80, 120, 160])
@pytest.mark.parametrize("dated", [True, False])
def test_no_row_is_wider_than_the_terminal(from_logs: Made, width: int, *, dated: bool) -> None:
    made = from_logs(last="日本語 " * 40 + "\x1b[2J\u202e" + "x" * 300, dated=dated)
    made["timeline"][1] |= {"task": None, "file": "a/" * 80 + "日" * 40}
    for verdict in ("sick", "cannot-tell"):
        for row in shown(made | {"verdict": verdict}, width=width).splitlines():
            assert cells(row) <= width
            assert row.isprintable()


def test_wide_terminals_also_show_where_it_stands(from_logs: Made) -> None:
    assert "Socket closed [worker-1.err:288]\n" in shown(from_logs(), width=160)
    assert "[worker-1.err:288]" not in shown(from_logs(), width=80)


def test_without_dates_the_seconds_since_the_start_are_shown(from_logs: Made) -> None:
    text = shown(from_logs(dated=False))
    assert "   |   +42.1 s  ps:0      first  OSError" in text
    assert "since" not in text.splitlines()[1]


def test_no_order_is_claimed_that_the_times_do_not_show(from_logs: Made) -> None:
    made = from_logs()
    made["timeline"].insert(0, made["timeline"].pop(1))
    assert "Who said what, by the last time that stands above it:\n" in shown(made)


def test_the_most_telling_moments_are_shown_and_the_rest_counted(from_logs: Made) -> None:
    made = from_logs()
    first = made["timeline"][0]
    noise = [first | {"role": "noise", "text": f"means nothing {n}"} for n in range(10)]
    made["timeline"] = [first, *noise, *made["timeline"]]
    text = shown(made)
    assert "… 5 more in --format json" in text
    assert "failed to connect to all addresses" in text


def test_lines_are_cited_with_the_file_that_was_given(from_logs: Made) -> None:
    made = from_logs()
    (entry,) = made["findings"][0]["evidence"]
    assert (entry["file"], entry["line"]) == ("ps-0.err", 120)
    assert made["sources"][1] == {
        "file": "ps-0.err",
        "task": "ps:0",
        "bytes": 120_000,
        "lines": 1_200,
    }
    assert [moment["role"] for moment in made["timeline"]] == [
        "first",
        "echo",
        "echo",
        *["end"] * 3,
    ]
    assert made["timeline"][1] == {
        "at": "2026-11-15T18:02:59.200Z",
        "at_s": 43.2,
        "task": "worker:0",
        "file": "worker-0.err",
        "line": 301,
        "text": "failed to connect to all addresses",
        "role": "echo",
    }
    assert json.loads(json.dumps(made)) == made


def test_a_folder_that_all_logs_share_is_named_once(from_logs: Made) -> None:
    made = from_logs()
    for one in (*made["timeline"], *made["sources"], *made["findings"][0]["evidence"]):
        one["file"] = f"/data/jobs/4711/{one['file']}"
    made |= {"last_words": {"/data/jobs/4711/job.log": ["bye"]}, "logs": {"ps:0": []}}
    text = shown(made | {"unknown": ["whose /data/jobs/4711/job.log is"]}, width=160)
    assert text.count("/data/jobs/4711/") == 1
    assert "of ps:0 worker:0 worker:1 in /data/jobs/4711/\n" in text
    assert "not known whose log it is: logs/job.log\n" in text
    made["sources"][0]["file"] = "/srv/job.log"
    assert "[/data/jobs/4711/ps-0.err:120]" in shown(made, width=160)


def of_words(*facts: Fact, **proof: Any) -> dict[str, Any]:
    given = LogsGiven(at_s=0.0, host="", sources=("job.log",))
    findings: tuple[Finding, ...] = ()
    if proof:
        cause = Cause(family="oom-accelerator", remedy=AskHuman())
        told = Proof(says="ResourceExhaustedError", culprit=None, **proof)
        findings = (Finding(name="gpu-error", cause=cause, proof=told),)
    verdict = Verdict.SICK if findings else Verdict.CANNOT_TELL
    diagnosis = Diagnosis(verdict=verdict, findings=findings, broken={})
    return report(diagnosis, Evidence([given, *facts]), log_name=log_name)


def test_a_culprit_that_is_no_task_is_named_by_its_place() -> None:
    line = LogLine(at_s=0.0, host="", text="OOM when allocating", line=3, source="job.log")
    made = of_words(line, facts=(line,), place="GPU 0")
    assert made["findings"][0]["culprit"] == "GPU 0"
    assert "  --> GPU 0 · confidence: certain\n" in shown(made)
    nobody = of_words(line, facts=(line,))
    assert nobody["findings"][0]["culprit"] is None
    assert "  --> no single culprit · confidence: certain\n" in shown(nobody)


def test_noise_is_counted_and_told_as_what_it_is() -> None:
    said = (
        "E0000 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory"
    )
    source = "job.log"
    ended = OutputEnded(
        at_s=0.0, host="", stream="err", source=source, bytes_total=9, lines_total=1, lines_heard=1
    )
    line = LogLine(at_s=0.0, host="", text=said, line=1, source=source)
    made = of_words(line, ended)
    assert made["noise"]["lines"] == 1
    assert "= noise    1 line sounds bad and means nothing\n" in shown(made)


def test_where_nothing_is_proven_the_last_words_are_shown_of_few() -> None:
    facts: list[Fact] = []
    for index in range(SILENT_MAX + 8):
        task = TaskId("worker", index) if index else None
        source = f"w{index}.log"
        lines = tuple(f"step {number}" for number in range(9))
        facts += [
            LastWords(at_s=1.0, host="", task=task, lines=lines, source=source),
            LastWords(at_s=2.0, host="", task=task, lines=(" ",), source=f"{source}.out"),
            OutputEnded(
                at_s=1.0,
                host="",
                task=task,
                stream="err",
                source=source,
                bytes_total=80,
                lines_total=9,
                lines_heard=0,
            ),
        ]
    made = of_words(*facts)
    assert len(made["last_words"]) == SILENT_MAX
    assert made["logs"]["worker:1"] == ["w1.log", "w1.log.out"]
    odd = {"task": None, "file": "w0.log", "line": 3, "at": None, "why": "only here"}
    told = [odd | {"text": "E something"}, odd | {"text": "step 8"}]
    text = shown(made | {"unusual": told})
    assert text.startswith("cannot tell: nothing in 20 files (180 lines) proves a cause\n")
    assert "   | only here:\n   | w0.log  E something [w0.log:3]\n" in text
    assert "w0.log  step 8" not in text
    assert "last words of worker:1 (logs: w1.log, w1.log.out)\n" in text
    assert "   |   step 4\n" in text
    assert "step 3\n" not in text
    assert "… and 6 more in --format json\n" in text
    assert "= help     give it the logs of all tasks" in text


def test_a_healthy_log_gets_one_calm_line(from_logs: Made) -> None:
    made = from_logs() | {"verdict": "healthy", "findings": []}
    assert shown(made) == "healthy: nothing wrong was found in 4 files (3,601 lines)\n"


def test_sarif_points_at_the_line_in_the_log(from_logs: Made) -> None:
    assert "disk-full" in catalogue()
    run = json.loads(report_sarif(from_logs()))["runs"][0]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "ps-0.err"}, "region": {"startLine": 120}}
    assert run["tool"]["driver"]["rules"][0]["id"] == "disk-full"


def test_junit_has_a_case_for_each_finding_and_one_where_there_is_none(from_logs: Made) -> None:
    suite = ET.fromstring(report_junit(from_logs())).find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("failures")) == ("holdfast diagnose", "1")
    case = suite.find("testcase[@name='disk-full ps:0']")
    assert case is not None
    calm = report_junit(from_logs() | {"verdict": "healthy", "findings": []})
    assert 'tests="1"' in calm
    assert "<skipped" not in calm
    unsure = report_junit(from_logs() | {"verdict": "cannot-tell", "findings": []})
    assert "<skipped" in unsure


def test_github_shows_it_beside_the_line(from_logs: Made) -> None:
    line = report_github(from_logs())
    assert line.startswith("::error file=ps-0.err,line=120,title=disk-full::ps:0 could not write")
