"""Tracebacks in log files that a task holds open are told, within bounds."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.watch_logged import TELL_AGAIN_S, LoggedLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.told_facts import ExceptionLogged
from holdfast.probes import own_logs
from holdfast.probes.own_logs import COARSE_S, PIECE_BYTES_MAX

WORKER = TaskId.parse("worker:0")
FAILS_AT_ONCE = """
import logging, sys
logging.basicConfig(filename=sys.argv[1])
try:
    float("at once")
except ValueError:
    logging.exception("step is left out")
print("logged", flush=True)
sys.stdin.read()
"""


class Program:
    """This process as a task, and a logger of its own as the program's."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "train.log"
        self.at_s = 0.0
        self._look = LoggedLook("host-a")
        self._handler = logging.FileHandler(self.path)
        self.log = logging.Logger("trainer")  # noqa: LOG001 - its own, not the tests'
        self.log.addHandler(self._handler)
        pid = os.getpid()
        self._task = Watched(
            task=WORKER, pid=pid, address="", streams={}, pids=(pid,), main=pid, trains=True
        )

    def fail(self, text: str = "n/a") -> None:
        try:
            float(text)
        except ValueError:
            self.log.exception("step is left out")

    def look(self, after_s: float = 5.0) -> list[ExceptionLogged]:
        self.at_s += after_s
        found = self._look.look({WORKER: self._task}, self.at_s)
        return [fact for fact in found if fact.path == str(self.path)]

    def end(self) -> list[ExceptionLogged]:
        self.close()
        found = self._look.last_words(WORKER, self.at_s)
        return [fact for fact in found if fact.path == str(self.path)]

    def close(self) -> None:
        self._handler.close()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    # This process runs other tests, too, which may have files of such names open.
    monkeypatch.setattr(own_logs, "FILES_MAX", 1_000)
    made = Program(tmp_path)
    yield made
    made.close()


def test_tells_what_a_task_logs_with_its_place(program: Program) -> None:
    assert program.look() == []
    program.fail()
    program.log.info("goes on")
    (told,) = program.look()
    assert (told.task, told.exception) == (WORKER, "ValueError")
    assert told.message.startswith("could not convert")
    assert told.record == "step is left out"
    assert told.frames[-1].startswith(f"{__file__}:")


def test_the_last_words_of_a_task_are_read_after_its_end(program: Program) -> None:
    program.look()
    program.fail()
    (told,) = program.end()
    assert told.exception == "ValueError"


def test_the_same_again_is_counted_and_not_told_each_time(program: Program) -> None:
    program.look()
    told = []
    for _ in range(4):
        program.fail()
        program.log.info("goes on")
        told += program.look(after_s=TELL_AGAIN_S / 4)
    assert [fact.times for fact in told] == [1]
    (last,) = program.look(after_s=TELL_AGAIN_S)
    assert last.times == 4


def told_at_first(log: Path) -> list[str]:
    """Of a task that logs an exception as soon as it has begun, and is then looked at."""
    with subprocess.Popen(
        [sys.executable, "-c", FAILS_AT_ONCE, str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as task:
        assert task.stdin
        assert task.stdout
        task.stdout.readline()
        watched = Watched(
            task=WORKER, pid=task.pid, address="", streams={}, pids=(task.pid,), main=task.pid
        )
        found = [*LoggedLook("host-a").look({WORKER: watched}, 1.0)]
        task.stdin.close()
    return [fact.message for fact in found]


def test_what_is_logged_before_the_first_look_is_told(tmp_path: Path) -> None:
    assert told_at_first(tmp_path / "train.log") == ["could not convert string to float: 'at once'"]


def test_what_an_earlier_run_left_in_the_file_is_not_this_tasks(tmp_path: Path) -> None:
    before = Program(tmp_path)
    before.fail()
    before.close()
    time.sleep(2 * COARSE_S)  # a file system dates in ticks of the kernel
    assert told_at_first(before.path) == []


def test_a_chain_is_told_with_what_stands_above_it(program: Program) -> None:
    program.look()
    try:
        try:
            float("n/a")
        except ValueError as error:
            raise LookupError("no row 12") from error
    except LookupError:
        program.log.exception("step is left out")
    told = program.look()
    assert [fact.exception for fact in told] == ["ValueError", "LookupError"]
    assert {fact.record for fact in told} == {"step is left out"}


def test_each_exception_keeps_its_own_record(program: Program) -> None:
    program.look()
    for text in ("first", "second"):
        try:
            float(text) if text == "first" else int(text)
        except ValueError:
            program.log.exception(text)
    assert [fact.record for fact in program.look()] == ["first"]


def test_reads_no_more_than_its_bound_of_a_flood(program: Program) -> None:
    program.look()
    program.fail("the first")
    program.log.info("x" * 3 * PIECE_BYTES_MAX)
    program.fail("the last")
    assert [fact.message for fact in program.look()] == [
        "could not convert string to float: 'the last'"
    ]


def test_other_files_and_files_with_bytes_are_left_alone(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.look()
    with program.path.open("ab") as binary, (tmp_path / "rows.bin").open("ab") as rows:
        binary.write(b"\0\0Traceback (most recent call last):\nValueError: n/a\nend\n")
        rows.write(b"Traceback (most recent call last):\nValueError: n/a\nend\n")
        binary.flush()
        assert program.look() == []
    assert program.end() == []
