"""An old incarnation that comes back cannot write: tried with real processes."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from holdfast.logdir.fence import Busy, Outdated, Token, hold, is_current, writing
from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadInput, NotOurs

WRITER = Path(__file__).with_name("write_while_current.py")
LINES = 50
Start = Callable[..., "subprocess.Popen[str]"]
W1 = TaskId("worker", 1)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(attempt: int, *more: str, how: str = "always") -> "subprocess.Popen[str]":
        command = [sys.executable, str(WRITER), str(tmp_path), str(attempt), how, *more]
        pipe = subprocess.PIPE
        writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        started.append(writer)
        return writer

    yield begin
    for writer in started:
        writer.kill()
        writer.wait()
        assert writer.stdout
        assert writer.stdin
        writer.stdout.close()
        writer.stdin.close()


def next_word(writer: "subprocess.Popen[str]") -> str:
    assert writer.stdout
    return writer.stdout.readline().strip()


def until_written(place: Path, who: str) -> None:
    while not (place / "written").exists() or f"{who}\n" not in (place / "written").read_text():
        os.sched_yield()


def test_an_old_attempt_stops_writing_when_the_next_begins(start: Start, tmp_path: Path) -> None:
    old = start(1)
    assert next_word(old) == "1.1"
    until_written(tmp_path, "1.1")
    new = start(2)
    assert next_word(new) == "2.1"
    assert old.wait() == 73
    until_written(tmp_path, "2.1")
    new.kill()
    new.wait()
    whose = [(who, len(list(lines))) for who, lines in groupby(_lines(tmp_path))]
    # All of the old ones come before all of the new ones, and the old ones are whole.
    assert [who for who, _ in whose] == ["1.1", "2.1"]
    assert whose[0][1] % LINES == 0


def _lines(place: Path) -> list[str]:
    return [line for line in (place / "written").read_text().splitlines() if len(line) == 3]


def ask(writer: "subprocess.Popen[str]") -> str:
    """Let it write once, and hear what it says of it."""
    assert writer.stdin
    writer.stdin.write("\n")
    return next_word(writer)


def test_one_that_was_stopped_and_comes_back_cannot_write(start: Start, tmp_path: Path) -> None:
    old = start(1, how="asked")
    assert next_word(old) == "1.1"
    assert ask(old) == "written"
    old.send_signal(signal.SIGSTOP)
    token = hold(tmp_path, 2)
    size = (tmp_path / "written").stat().st_size
    old.send_signal(signal.SIGCONT)
    assert ask(old) == "incarnation 1 of attempt 1 may not write: a newer one does"
    assert old.wait() == 73
    assert (tmp_path / "written").stat().st_size == size
    assert is_current(tmp_path, token)


def test_one_that_was_stopped_in_the_middle_of_a_write_must_be_ended_first(
    start: Start, tmp_path: Path
) -> None:
    old = start(1, how="stays")
    assert next_word(old) == "1.1"
    assert ask(old) == "in the middle"
    old.send_signal(signal.SIGSTOP)
    with pytest.raises(Busy) as refused:
        hold(tmp_path, 2, wait_s=0.2)
    assert refused.value.do == "end the task that was given up, then try again"
    old.kill()
    old.wait()
    assert hold(tmp_path, 2) == Token(2, 1)


def test_who_is_in_the_middle_of_a_write_is_waited_for_and_not_for_ever(tmp_path: Path) -> None:
    token = hold(tmp_path, 1)
    with writing(tmp_path, token), pytest.raises(Busy, match=r"for more than 0\.1 s"):
        hold(tmp_path, 2, wait_s=0.1)
    assert hold(tmp_path, 2) == Token(2, 1)


def test_an_attempt_that_is_over_cannot_be_held_again(tmp_path: Path) -> None:
    hold(tmp_path, 3)
    with pytest.raises(Outdated, match="attempt 2 may not write: attempt 3 has begun"):
        hold(tmp_path, 2)
    assert not is_current(tmp_path, Token(2, 9))


def test_who_takes_an_attempt_over_is_a_new_incarnation_of_it(tmp_path: Path) -> None:
    first, second = hold(tmp_path, 1), hold(tmp_path, 1)
    assert (first, second) == (Token(1, 1), Token(1, 2))
    assert (is_current(tmp_path, first), is_current(tmp_path, second)) == (False, True)
    with pytest.raises(Outdated), writing(tmp_path, first):
        pytest.fail("it must not come here")


def test_a_restarted_task_shuts_out_its_old_self_and_nobody_else(tmp_path: Path) -> None:
    job = hold(tmp_path, 1)
    other = hold(tmp_path, 1, task=TaskId("worker", 0))
    old = hold(tmp_path, 1, task=W1)
    new = hold(tmp_path, 1, task=W1)
    assert not is_current(tmp_path, old, task=W1)
    assert is_current(tmp_path, new, task=W1)
    assert is_current(tmp_path, other, task=TaskId("worker", 0))
    assert is_current(tmp_path, job)
    with writing(tmp_path, new, task=W1):
        pass
    hold(tmp_path, 2)
    assert not is_current(tmp_path, new, task=W1)


def test_an_old_task_stops_when_it_is_started_again(start: Start, tmp_path: Path) -> None:
    old = start(1, "worker:1")
    assert next_word(old) == "1.1"
    new = start(1, "worker:1")
    assert next_word(new) == "1.2"
    assert old.wait() == 73


def test_of_many_who_hold_at_once_each_gets_a_token_of_its_own(start: Start) -> None:
    writers = [start(1) for _ in range(4)]
    assert sorted(map(next_word, writers)) == ["1.1", "1.2", "1.3", "1.4"]


def test_where_nobody_holds_a_fence_nobody_is_shut_out(tmp_path: Path) -> None:
    assert is_current(tmp_path, Token(1))
    with writing(tmp_path, Token(1), task=W1):
        pass
    (tmp_path / "fences").mkdir()
    (tmp_path / "fences" / "job").touch()
    assert is_current(tmp_path, Token(1))


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"attempt": 1}',
        '{"attempt": "1", "incarnation": 1}',
        "{",
        '{"attempt":0,"incarnation":1}',
    ],
)
def test_a_file_that_is_no_fence_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    hold(tmp_path, 1)
    (tmp_path / "fences" / "job").write_text(text)
    with pytest.raises(BadInput, match="is no fence"):
        is_current(tmp_path, Token(1))


def test_a_link_in_place_of_a_fence_is_not_followed(tmp_path: Path) -> None:
    hold(tmp_path, 1)
    (tmp_path / "fences" / "job").unlink()
    (tmp_path / "fences" / "job").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotOurs):
        hold(tmp_path, 1)
    assert not (tmp_path / "elsewhere").exists()


def test_names_that_are_no_tasks_make_no_fence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no fence can be named"):
        hold(tmp_path, 1, task=TaskId("../worker", 0))
    with pytest.raises(ValueError, match="there is no attempt 0"):
        hold(tmp_path, 0)


def test_a_file_system_without_locks_still_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)  # as on a network file system without them
    first, second = hold(tmp_path, 1), hold(tmp_path, 2)
    with writing(tmp_path, second):
        pass
    with pytest.raises(Outdated), writing(tmp_path, first):
        pytest.fail("it must not come here")
