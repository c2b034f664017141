"""A program that ends with an exception leaves it behind as a file, too."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.in_task.conftest import Job

from holdfast.logdir.journal import open_journal
from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, TaskStarted

# Of a program that stands in no file nobody knows whether it raised the second on purpose.
TOLD = "worker:0 ended with KeyError: 'row', at step 41; after it came ValueError: bad batch"
CHAINED = """
import holdfast
holdfast.progress(41)
def load():
    raise KeyError("row")
def train():
    try:
        load()
    except KeyError as error:
        raise ValueError("bad batch") from error
train()
"""


def words(job: Job) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(job.folder.glob("*.last-words.json"))]


def test_what_ended_a_program_is_written_with_its_stack_and_step(job: Job) -> None:
    done = job.done(CHAINED)
    assert done.returncode == 1
    (found,) = words(job)
    assert found["format"] == "holdfast-last-words/1"
    assert (found["task"], found["step"], found["thread"]) == ("worker:0", 41, "MainThread")
    assert (found["exception"], found["message"]) == ("builtins.ValueError", "bad batch")
    assert found["frames"][-1].startswith("<string>:10 train")
    assert found["from"][0]["exception"] == "builtins.KeyError"
    assert "ValueError: bad batch" in done.stderr


def test_an_hdf5_file_that_cannot_be_opened_is_named(job: Job, tmp_path: Path) -> None:
    """HDF5 itself does not say which one it was."""
    path = tmp_path / "all.h5"
    path.write_bytes(b"no HDF5 at all")
    job.done(f"import h5py; h5py.File({str(path)!r}, 'a')")
    job.done("raise OSError('unable to open file')")
    files = {(one["file"], one["mode"]) for one in words(job)}
    assert files == {(str(path), "a"), ("", "")}


def test_an_hdf5_file_that_was_open_when_a_call_failed_is_named(job: Job, tmp_path: Path) -> None:
    """It is closed by the time at which anybody could ask it."""
    program = tmp_path / "train.py"
    program.write_text(
        "import sys\nimport h5py as h5\nname = sys.argv[1]\n"
        "with h5.File(name, mode='a') as file:\n    row = {}\n    file['not there']\n"
    )
    run = "import runpy, sys; sys.argv[1:] = [{0!r}]; runpy.run_path({1!r})"
    job.done(run.format(str(tmp_path / "all.h5"), str(program)))
    program.write_text(program.read_text().replace("file['not there']", "row['not there']"))
    job.done(run.format(str(tmp_path / "all.h5"), str(program)))
    files = {(one["file"], one["mode"]) for one in words(job)}
    assert files == {(str(tmp_path / "all.h5"), "a"), ("", "")}


def test_of_a_group_the_first_member_is_written_as_what_it_came_from(job: Job) -> None:
    job.done("raise ExceptionGroup('two', [KeyError('row'), ValueError('bad')])")
    (found,) = words(job)
    assert [one["exception"] for one in found["from"]] == ["builtins.KeyError"]


def test_of_a_long_message_the_end_is_written_too(job: Job) -> None:
    job.done("raise RuntimeError('begin ' + 'x' * 100_000 + ' end')")
    (found,) = words(job)
    assert found["message"].startswith("begin x")
    assert found["message"].endswith("x end")
    assert len(found["message"]) <= 4_000


def test_the_traceback_is_printed_as_without_us(job: Job) -> None:
    with_us = job.done("raise ValueError('no')")
    without = job.done("raise ValueError('no')", PYTHONPATH="")
    assert (with_us.stderr, with_us.returncode) == (without.stderr, without.returncode)


def test_a_thread_that_ends_so_is_written_and_ends_nobody_else(job: Job) -> None:
    code = """
import holdfast, threading
holdfast.progress(1)
def work():
    raise RuntimeError("lost")
thread = threading.Thread(target=work, name="reader")
thread.start()
thread.join()
print("goes on")
"""
    done = job.done(code)
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert "RuntimeError: lost" in done.stderr
    (found,) = words(job)
    assert (found["thread"], found["exception"]) == ("reader", "builtins.RuntimeError")


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(3)",
        "pass",
        "import sys; sys.excepthook = lambda *_: None; raise ValueError",
    ],
)
def test_who_does_not_end_so_leaves_nothing(job: Job, code: str) -> None:
    job.done(code)
    assert words(job) == []


def test_an_exception_that_cannot_even_be_shown_is_survived(job: Job) -> None:
    code = """
class Odd(Exception):
    def __str__(self):
        raise ValueError
raise Odd
"""
    assert job.done(code).returncode == 1
    (found,) = words(job)
    assert "cannot be had" in found["message"]


def test_a_folder_that_is_gone_changes_nothing(job: Job) -> None:
    done = job.done("raise ValueError('no')", HOLDFAST_IN_TASK_DIR="/nowhere")
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: no\n")


def test_a_run_tells_what_its_program_wrote_down_and_the_log_never_had(tmp_path: Path) -> None:
    """From the program's hook through the journal to `diagnose`, and once."""
    code = f"import os, holdfast; holdfast.progress(3); os.close(2)\n{CHAINED}"
    done = holdfast(
        "run", "--no-check", "--run-dir", str(tmp_path / "run"), sys.executable, "-c", code
    )
    assert done.returncode == 1, done.stderr
    told = holdfast("diagnose", "--format", "json", str(tmp_path / "run"))
    (finding,) = json.loads(told.stdout)["findings"]
    assert (finding["cause"], finding["confidence"]) == ("user-exception", "certain")
    assert finding["says"] == TOLD
    (first, _) = finding["evidence"]
    assert first["file"].endswith(".last-words.json")
    assert "from KeyError: 'row'" in first["text"]


def test_what_a_supervisor_could_not_read_any_more_is_read_by_diagnose(job: Job) -> None:
    process = job.start(CHAINED)
    process.wait()
    journal = open_journal(job.run_dir)
    for fact in (
        AttemptStarted(
            at_s=0.0,
            host="host-a",
            began_unix_s=time.time() - 60,
            tasks=("worker:0",),
            holdfast="0",
        ),
        TaskStarted(at_s=1.0, host="host-a", task=TaskId("worker", 0), pid=process.pid),
    ):
        journal.append(fact)
    journal.close()
    told = holdfast("diagnose", "--format", "json", str(job.run_dir.path))
    (finding,) = json.loads(told.stdout)["findings"]
    assert finding["says"] == TOLD


def holdfast(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
