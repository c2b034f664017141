"""A program that ends with an exception leaves it behind as a file, too."""

import json
from typing import Any

import pytest
from tests.in_task.conftest import Job

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
