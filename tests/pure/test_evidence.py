"""The questions that causes ask of the facts, and what counts as a failure."""

import signal
from dataclasses import replace

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskStarted,
    TimePassed,
    TracebackSeen,
)
from holdfast.model.pattern import Pattern
from holdfast.model.watch_facts import TaskMoves, TaskWaits

PS, WORKER = TaskId("ps", 0), TaskId("worker", 0)
STARTED = AttemptStarted(
    at_s=0, host="a", began_unix_s=1000.5, tasks=("ps:0", "worker:0"), holdfast="0.1.0"
)
FULL = Pattern("No space left")


def line(at_s: float, text: str, *, number: int = 0, offset: int = 0) -> LogLine:
    return LogLine(at_s=at_s, host="a", task=WORKER, text=text, line=number, offset=offset)


def traceback(message: str, *, offset: int = 10, stream: str = "err") -> TracebackSeen:
    return TracebackSeen(
        at_s=1,
        host="a",
        task=WORKER,
        exception="ValueError",
        message=message,
        offset=offset,
        stream=stream,
    )


def exited(at_s: float = 5, *, code: int | None = None, number: int | None = None) -> TaskExited:
    return TaskExited(at_s=at_s, host="a", task=WORKER, exit_code=code, signal=number)


def words(*lines: str, stream: str = "err") -> LastWords:
    return LastWords(at_s=5, host="a", task=WORKER, lines=lines, stream=stream)


def test_facts_are_told_in_the_order_of_their_time() -> None:
    late, early = TimePassed(at_s=9, host="a"), TimePassed(at_s=1, host="a")
    assert Evidence([late, early]).facts == (early, late)


def test_only_the_newest_attempt_counts() -> None:
    old = TaskExited(at_s=50, host="a", task=WORKER, exit_code=1, attempt=1)
    new = TaskStarted(at_s=1, host="a", task=WORKER, pid=7, attempt=2)
    evidence = Evidence([old, new])
    assert (evidence.attempt, evidence.facts) == (2, (new,))


def test_without_facts_there_is_an_empty_first_attempt() -> None:
    evidence = Evidence([])
    assert (evidence.attempt, evidence.tasks, evidence.began_unix_s()) == (1, (), 0.0)


def test_tasks_are_those_announced_and_those_only_heard_of() -> None:
    unannounced = TaskStarted(at_s=1, host="a", task=TaskId("worker", 1), pid=7)
    evidence = Evidence([STARTED, unannounced])
    assert [str(task) for task in evidence.tasks] == ["ps:0", "worker:0", "worker:1"]
    assert evidence.began_unix_s() == 1000.5
    assert evidence.pids_of(TaskId("worker", 1)) == {7}
    assert evidence.pids_of(PS) == set()


def test_facts_of_a_kind_and_of_a_task() -> None:
    facts = [line(1, "a"), line(2, "b"), LogLine(at_s=3, host="a", task=PS, text="a")]
    evidence = Evidence(facts)
    assert list(evidence.of(LogLine)) == facts
    assert list(evidence.of(LogLine, PS)) == facts[2:]
    assert list(evidence.of(TaskExited)) == []
    assert list(evidence.lines(Pattern("^a$"))) == [facts[0], facts[2]]
    assert list(evidence.lines(Pattern("^a$"), WORKER)) == [facts[0]]


def test_a_line_read_twice_is_one_fact_with_its_number_and_its_first_time() -> None:
    uncounted, counted = line(1, "x", offset=90), line(4, "x", number=7, offset=90)
    first = line(1, "x", number=7, offset=90)
    assert Evidence([uncounted, counted]).facts == (first,)
    assert Evidence([first, line(4, "x", offset=90)]).facts == (first,)


def test_lines_at_different_places_are_different_facts() -> None:
    facts = (
        line(1, "x", number=1),
        line(1, "x", number=2, offset=2),
        LogLine(at_s=1, host="a", task=WORKER, text="x", stream="out", line=2, offset=2),
        LogLine(at_s=1, host="a", task=PS, text="x", line=2, offset=2),
        line(1, "nobody knows where"),
        line(1, "nobody knows where"),
    )
    assert Evidence(facts).facts == facts


@pytest.mark.parametrize(
    ("ending", "told", "failed"),
    [
        (exited(code=0), [], False),
        (exited(code=1), [], True),
        (exited(number=9), [], True),
        (exited(number=15), [SignalSent(at_s=4, host="a", task=WORKER, signal=15, why="")], False),
        (exited(code=1), [SignalSent(at_s=4, host="a", task=WORKER, signal=2, why="")], False),
        (exited(code=1), [SignalSent(at_s=6, host="a", task=WORKER, signal=15, why="")], True),
        (exited(code=1), [SignalSent(at_s=4, host="a", task=PS, signal=15, why="")], True),
        (exited(code=1), [StopAsked(at_s=4, host="a", by="ctrl-c", signal=2)], False),
        (exited(code=1), [StopAsked(at_s=6, host="a", by="ctrl-c", signal=2)], True),
        # Passed on to every task: most ignore it, and may fail of something else much later.
        (exited(code=1), [SignalSent(at_s=4, host="a", task=WORKER, signal=10, why="")], True),
        (exited(number=10), [SignalSent(at_s=4, host="a", task=WORKER, signal=10, why="")], True),
    ],
)
def test_who_failed_by_itself(ending: TaskExited, told: list[Fact], *, failed: bool) -> None:
    evidence = Evidence([STARTED, ending, *told])
    assert list(evidence.failures()) == ([ending] if failed else [])


def test_a_task_that_runs_has_not_failed() -> None:
    evidence = Evidence([STARTED])
    assert evidence.exit_of(WORKER) is None
    assert evidence.failure_of(WORKER) is None


def test_the_traceback_that_ended_a_task_is_the_last_one_on_stderr() -> None:
    first, last = traceback("first"), traceback("last", offset=20)
    shown = traceback("shown", offset=99, stream="out")
    assert Evidence([shown, last, first]).last_traceback(WORKER) == last
    assert Evidence([shown]).last_traceback(WORKER) == shown
    assert Evidence([shown]).last_traceback(PS) is None


def test_a_traceback_that_python_ignored_ended_nobody() -> None:
    own = replace(traceback("wrong labels"), line=10)
    late = replace(traceback("'NoneType' object is not callable", offset=30), line=31)
    ignored = line(1, "Exception ignored in: <function Pool.__del__>", number=30, offset=20)
    elsewhere = replace(ignored, task=PS)
    assert Evidence([own, ignored, late]).last_traceback(WORKER) == own
    assert Evidence([own, elsewhere, late]).last_traceback(WORKER) == late
    assert Evidence([ignored, late]).last_traceback(WORKER) is None


@pytest.mark.parametrize(
    ("facts", "over"),
    [
        ([traceback("No space left on device")], True),
        ([traceback("wrong labels"), line(1, "No space left on device")], False),
        ([words("No space left on device"), line(1, "No space left on device")], True),
        ([words("bye"), line(1, "No space left on device")], False),
        ([line(1, "No space left on device")], True),
        ([], False),
    ],
    ids=["traceback", "coped with", "last words", "long ago", "nobody kept words", "silence"],
)
def test_a_task_ended_over_what_its_end_speaks_of(facts: list[Fact], *, over: bool) -> None:
    assert Evidence(facts).ended_over(exited(code=1), FULL) is over
    assert Evidence(facts).ended_over(exited(code=1), Pattern("no such words"), FULL) is over


@pytest.mark.parametrize(
    ("seen", "last", "is_last"),
    [
        (traceback("wrong"), words("Traceback", "ValueError: wrong"), True),
        (traceback(""), words("ValueError"), True),
        (traceback("wrong\nrows: 3"), words("ValueError: wrong", "rows: 3"), True),
        (traceback("x" * 5_000), words("ValueError: " + "x" * 900), True),
        (traceback("wrong"), words("ValueError: wrong", "step 20"), False),
        (traceback("wrong"), words("ValueError: wrong", stream="out"), False),
    ],
)
def test_the_last_word(seen: TracebackSeen, last: LastWords, *, is_last: bool) -> None:
    assert Evidence([seen, last]).is_last_word(seen) is is_last


@pytest.mark.parametrize(
    ("ending", "number"),
    [
        (exited(number=9), signal.SIGKILL),
        (exited(code=137), signal.SIGKILL),
        (exited(code=143), signal.SIGTERM),
        (exited(code=192), 64),
        (exited(code=193), None),
        (exited(code=128), None),
        (exited(code=1), None),
        (exited(code=0), None),
    ],
)
def test_the_signal_a_task_died_of(ending: TaskExited, number: int | None) -> None:
    assert death_signal(ending) == number


def test_a_move_that_was_written_down_after_the_end_began_is_how_it_ended() -> None:
    stop = StopAsked(at_s=20.0, host="a", by="Ctrl-C", signal=2)
    moves = TaskMoves(at_s=19.99, host="a", task=WORKER, still_s=9.0)
    waits = TaskWaits(at_s=19.99, host="a", task=WORKER, waits_s=9.0, usual_s=0.0)
    goes_on = replace(waits, waits_s=0.0)
    assert list(Evidence([stop, moves, goes_on, waits]).facts) == [waits, stop]
    assert list(Evidence([moves, goes_on, stop]).facts) == [moves, goes_on, stop]
    again = replace(moves, attempt=2)
    assert list(Evidence([stop, again]).facts) == [again]
