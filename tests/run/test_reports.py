"""What the other commands say of a run, and of themselves."""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.logdir.run_dir import create_run_dir
from holdfast.model.facts import AttemptEnded
from holdfast.supervisor.concluding import write_page

pytestmark = pytest.mark.timeout(60)
Start = Any
Terminal = Any
Holdfast = Callable[..., Any]
REPORT_FIELDS = {
    *("schema", "verdict", "findings", "healthy", "unknown", "broken", "last_words", "logs"),
    *("timeline", "taken_back", "taken_back_more"),
}
FINDING_FIELDS = {
    *("cause", "family", "severity", "culprit", "host", "confidence", "since", "says", "do"),
    *("evidence", "echoes"),
}
FAIL = "import os, sys; print('fine') if os.environ['HOLDFAST_TASK'].endswith('0') else 1 / 0"


@pytest.fixture(scope="module")
def failed(start_early: Start) -> Any:
    """A run whose second worker raised an exception."""
    job = start_early("--workers", "2", "--", sys.executable, "-c", FAIL, env={"COLUMNS": "90"})
    assert job.wait() == 1
    return job


def test_diagnose_says_the_same_every_time_and_as_the_report_does(
    failed: Any, holdfast: Holdfast
) -> None:
    before = {path: path.read_bytes() for path in failed.run_dir.rglob("*.json*")}
    first, second = (holdfast("diagnose", "--format", "json", str(failed.run_dir)) for _ in "12")
    assert first.returncode == second.returncode == 1
    assert first.stdout == second.stdout
    assert json.loads(first.stdout) == failed.report
    assert {path: path.read_bytes() for path in before} == before


def test_the_report_has_the_promised_fields(failed: Any) -> None:
    report = failed.report
    assert set(report) == REPORT_FIELDS
    assert report["schema"] == "holdfast.report/1"
    assert report["verdict"] == "sick"
    assert report["healthy"] == ["worker:0"]
    (finding,) = report["findings"]
    assert set(finding) == FINDING_FIELDS
    assert (finding["cause"], finding["culprit"]) == ("user-exception", "worker:1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", finding["since"])
    by_file = {entry["file"]: entry for entry in finding["evidence"] if entry["file"]}
    seen = by_file.pop("logs/worker-1.1.err")
    assert [name.partition(".")[0] for name in by_file] == ["in-task/worker-1"]
    log = (failed.run_dir / seen["file"]).read_text().splitlines()
    assert log[seen["line"] - 1] == "Traceback (most recent call last):"
    lines = (failed.run_dir / "findings.jsonl").read_text().splitlines()
    assert [json.loads(line)["cause"] for line in lines] == ["user-exception"]


def test_a_run_leaves_its_report_as_a_page_too(failed: Any) -> None:
    page = failed.run_dir / "report.html"
    assert "<h1>worker:1 ended with ZeroDivisionError" in page.read_text()
    assert page.stat().st_mode & 0o077 == 0, "for its owner only"


def test_a_page_that_cannot_be_made_hurts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with create_run_dir(tmp_path / "run") as run_dir:
        write_page(run_dir, {"not": "a report"})
        assert not (run_dir.path / "report.html").exists()
    assert "report.html could not be written: KeyError" in capsys.readouterr().err


def test_the_text_names_culprit_reason_and_fix(failed: Any, holdfast: Holdfast) -> None:
    said = holdfast("diagnose", str(failed.run_dir), env={**os.environ, "COLUMNS": "90"})
    assert said.returncode == 1
    assert said.stdout.startswith("error[user-exception]: worker:1 ended with ZeroDivisionError")
    assert "holdfast explain user-exception" in said.stdout
    assert "\x1b" not in said.stdout
    assert said.stdout.rstrip() in failed.out, "the same as at the end of the run"


def test_a_run_that_still_goes_on_can_be_diagnosed(start: Start, holdfast: Holdfast) -> None:
    job = start("--", "sh", "-c", "echo ready; exec sleep 600")
    job.until_says("worker:0", b"ready")
    said = holdfast("diagnose", str(job.run_dir))
    assert said.returncode == 0
    assert "how worker:0 ended: still running" in said.stdout
    holdfast("stop", "--now", str(job.run_dir))
    assert job.wait() == 143
    assert job.facts(AttemptEnded)[0].why == "stopped by holdfast stop"


def test_a_copy_of_a_run_is_diagnosed_alike(
    failed: Any, holdfast: Holdfast, tmp_path: Path
) -> None:
    copy = failed.run_dir.rename(tmp_path / "moved")
    try:
        said = holdfast("diagnose", "--format", "json", str(copy))
        assert json.loads(said.stdout)["findings"][0]["cause"] == "user-exception"
    finally:
        copy.rename(failed.run_dir)


def test_explain_lists_every_cause_and_shows_its_page(
    holdfast: Holdfast, terminal: Terminal
) -> None:
    listed = holdfast("explain")
    assert listed.returncode == 0
    names = re.findall(r"^  ([a-z-]+) +\S", listed.stdout, re.MULTILINE)
    for wanted in (
        *("port-conflict", "bad-tf-config", "user-exception", "killed-by-signal", "disk-full"),
        *("host-out-of-memory", "cgroup-out-of-memory", "command-not-found", "peer-gone"),
        *("too-many-open-files", "missing-library", "crashed"),
    ):
        assert wanted in names
    page = holdfast("explain", "PORT_conflict")
    assert page.returncode == 0
    assert page.stdout.startswith("# port-conflict\n\n*family:* port-conflict\n")
    for heading in ("## What you see", "## Why it happens", "## What to do"):
        assert heading in page.stdout
    drawn = holdfast("explain", "port-conflict", stdout=terminal.slave)
    assert drawn.returncode == 0
    while terminal.read():
        pass
    assert "What you see" in terminal.text
    assert "## What you see" not in terminal.text


@pytest.mark.parametrize("width", [40, 80, 160])
def test_causes_are_listed_with_one_line_each_in_any_width(holdfast: Holdfast, width: int) -> None:
    listed = holdfast("explain", env={"COLUMNS": str(width)}).stdout.splitlines()
    assert all(len(line) <= width for line in listed)
    assert sum(line.startswith("  disk-full ") for line in listed) == 1
    family = holdfast("explain", "oom-host", env={"COLUMNS": str(width)})
    assert family.returncode == 0
    assert family.stdout.startswith("oom-host: host memory ran out\n")
    assert all(len(line) <= width for line in family.stdout.splitlines())
    said = " ".join(family.stdout.split())
    assert "A task hit the limit of its memory cgroup and the kernel killed it." in said


def test_an_unknown_cause_is_answered_with_the_nearest(holdfast: Holdfast) -> None:
    near = holdfast("explain", "port-conflct")
    assert near.returncode == 2
    assert near.stderr.splitlines() == [
        "error: there is no cause named 'port-conflct'",
        "  try: holdfast explain port-conflict",
    ]
    word = holdfast("explain", "oom")
    assert "try: holdfast explain oom-host | oom-accelerator\n" in word.stderr
    far = holdfast("explain", "zzzz")
    assert far.returncode == 2
    assert "holdfast explain, for the list" in far.stderr


@pytest.mark.parametrize(
    ("arguments", "promises"),
    [
        ((), ("run", "diagnose", "explain", "stop", "--version")),
        (
            ("run",),
            (
                *("--chief", "--ps N", "--workers N", "--evaluator", "--run-dir DIR", "--env K=V"),
                *("--grace-s S", "--keep-bytes SIZE", "--plan", "--quiet", "--tasks LIST"),
                *("Exit codes:", "127", "130", "job.toml", "before or after the job file"),
            ),
        ),
        (("diagnose",), ("PATH", "--format [text|json", "Exits with 0")),
        (("explain",), ("CAUSE",)),
        (("stop",), ("RUN_DIR", "--now", "SIGTERM")),
    ],
    ids=["holdfast", "run", "diagnose", "explain", "stop"],
)
def test_help_says_what_can_be_asked(
    holdfast: Holdfast, arguments: tuple[str, ...], promises: tuple[str, ...]
) -> None:
    for flag in ("--help", "-h"):
        said = holdfast(*arguments, flag)
        assert said.returncode == 0
        assert said.stderr == ""
        for promise in promises:
            assert promise in " ".join(said.stdout.split())


def test_the_version_is_told(holdfast: Holdfast) -> None:
    assert re.fullmatch(r"holdfast, version \d+\.\d+\.\d+\n", holdfast("--version").stdout)
