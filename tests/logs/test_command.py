"""`holdfast diagnose` on logs, as users run it."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

CALM = "2026-11-15 10:00:00.000000: I tensorflow/core/common_runtime/executor.cc:1197] step {}\n"
SICK = "OSError: [Errno 24] Too many open files: '/data/shard-7'\n"
TRACE = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in <module>\n'
WAIT_S = 60.0
HEALTHY, FAILED, USAGE, MISSING, STORAGE = 0, 1, 2, 66, 74


def diagnosed(
    *arguments: str | Path, given: bytes = b"", cwd: Path | None = None
) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "holdfast", "diagnose", *map(str, arguments)]
    return subprocess.run(
        command, input=given, capture_output=True, timeout=WAIT_S, cwd=cwd, check=False
    )


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    path = tmp_path / "worker-1.log"
    path.write_text("".join(map(CALM.format, range(100))) + TRACE + SICK)
    return path


def test_the_cause_is_told_with_the_line_that_proves_it(sick: Path) -> None:
    ran = diagnosed("worker-1.log", "--format", "json", cwd=sick.parent)
    assert ran.returncode == FAILED, ran.stderr
    told = json.loads(ran.stdout)
    assert told["verdict"] == "sick"
    assert told["findings"][0]["cause"] == "too-many-open-files"
    assert told["findings"][0]["evidence"][0]["file"] == "worker-1.log"
    assert told["findings"][0]["evidence"][0]["line"] in {101, 103}


def test_standard_input_is_a_log_like_any_other(sick: Path) -> None:
    for given in (sick.read_bytes(), gzip.compress(sick.read_bytes())):
        ran = diagnosed("-", given=given)
        assert ran.returncode == FAILED
        assert b"too-many-open-files" in ran.stdout


@pytest.mark.parametrize(
    ("shape", "mark"),
    [
        ("text", "error[too-many-open-files]"),
        ("json", '"schema": "holdfast.report/1"'),
        ("sarif", '"version": "2.1.0"'),
        ("junit", "<testsuite"),
        ("github", "::error "),
        ("markdown", "#"),
        ("html", "<html"),
    ],
)
def test_every_shape_can_be_shown_and_written(sick: Path, shape: str, mark: str) -> None:
    shown = diagnosed(sick, "--format", shape)
    assert shown.returncode == FAILED
    assert mark in shown.stdout.decode()
    place = sick.parent / "report"
    written = diagnosed(sick, "--format", shape, "-o", place)
    assert written.stdout == b""
    assert mark in place.read_text()


def test_a_report_that_cannot_be_written_is_said(sick: Path) -> None:
    ran = diagnosed(sick, "-o", sick.parent / "nowhere" / "report")
    assert ran.returncode == STORAGE
    assert b"cannot write" in ran.stderr


def test_logs_without_a_fault_that_tell_of_an_end_are_healthy(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    log.write_text("".join(map(CALM.format, range(100))))
    unended = diagnosed(tmp_path)
    assert unended.returncode == FAILED
    assert unended.stdout.startswith(b"cannot tell: nobody finished: worker:0 falls silent")
    log.write_text(log.read_text() + "training is done\n")
    ran = diagnosed(tmp_path)
    assert (ran.returncode, ran.stderr) == (HEALTHY, b"")
    assert ran.stdout.startswith(b"healthy")


def test_what_could_not_be_read_is_said_beside_the_finding(sick: Path) -> None:
    (sick.parent / "core").write_bytes(b"\x7fELF\0\0\1")
    told = json.loads(diagnosed(sick.parent, "--format", "json").stdout)
    assert told["findings"]
    assert [gap for gap in told["unknown"] if gap.endswith("core: it is no text")]


def test_without_a_path_the_way_to_name_one_is_shown() -> None:
    ran = diagnosed()
    assert ran.returncode == USAGE
    assert b"holdfast diagnose worker-0.log worker-1.log" in ran.stderr


def test_nothing_to_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in ("empty", "nowhere", "no*.log"):
        ran = diagnosed(path, cwd=tmp_path)
        assert ran.returncode == MISSING
        assert b"there is nothing to read" in ran.stderr
        assert b"try: name a log" in ran.stderr


def test_names_of_files_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    ran = diagnosed(tmp_path / "\x1b[31mred.log")
    assert ran.returncode == MISSING
    assert b"\x1b" not in ran.stderr


def test_output_that_finds_no_room_is_said_in_a_sentence(sick: Path) -> None:
    command = [sys.executable, "-m", "holdfast", "diagnose", str(sick)]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, timeout=WAIT_S, check=False
        )
    assert ran.returncode == STORAGE
    assert ran.stderr.splitlines() == [
        b"error: cannot write the output: No space left on device",
        b"  try: send it elsewhere, or make room",
    ]
