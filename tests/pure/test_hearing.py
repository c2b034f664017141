"""Log files become facts: what tells is heard, whose it is and when it was is settled."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.error_like import is_error_like
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    OutputEnded,
)
from holdfast.model.hearing import (
    ALSO_HEARS,
    hear_text,
    settle,
)
from holdfast.model.log_facts import LogsGiven
from holdfast.model.log_storms import FIRST_MAX, KINDS_MAX, LAST_MAX
from holdfast.model.pattern import AnyOf, Pattern
from holdfast.model.watch_facts import StepsSeen

Settled = Callable[..., list[Fact]]

TELLING = AnyOf((*ALSO_HEARS, Pattern("Connection refused"), Pattern("Killed")))
AT = 1773298938.0  # 2026-03-12 07:02:18 UTC


def lines(facts: list[Fact]) -> list[LogLine]:
    return [fact for fact in facts if isinstance(fact, LogLine)]


def given_of(facts: list[Fact]) -> LogsGiven:
    return next(fact for fact in facts if isinstance(fact, LogsGiven))


def began_of(facts: list[Fact]) -> AttemptStarted:
    return next(fact for fact in facts if isinstance(fact, AttemptStarted))


# Lines


def test_a_line_has_its_level_its_place_and_its_own_words(settled: Settled) -> None:
    text = (
        "step 1\n[rank2]: 2026-03-12 07:02:18.5: E tensorflow/core/x.cc:9] Connection refused\r\n"
    )
    line = lines(settled(job__log=text))[0]
    assert line.text.startswith("[rank2]: 2026-03-12")
    assert (line.level, line.line, line.offset, line.source) == ("E", 2, 7, "job.log")
    assert line.task == TaskId("rank", 2)


def test_lines_with_labels_of_srun_are_of_their_ranks(settled: Settled) -> None:
    text = "0: step 1\n1: step 1\n0: step 2\n1: Connection refused\n"
    assert [line.task for line in lines(settled(job__log=text))] == [TaskId("rank", 1)]
    assert [line.task for line in lines(settled(job__log="x\n1: Connection refused\n"))] == [None]


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("error: no such file", True),
        ("Fatal error in MPI_Init", True),
        ("train.sh: FAILED to start", True),
        ("ValueError: bad", True),
        ("the process 7 has died", True),
        ("Aborting.", True),
        ("0 failed, 12 passed", False),
        ("errors: 0", False),
        ("step 3, error rate 0.2", False),
        ("errorless training", False),
    ],
)
def test_what_sounds_like_an_error(text: str, sounds: object) -> None:
    assert is_error_like(text) is sounds


def test_a_line_that_sounds_like_an_error_is_marked(settled: Settled) -> None:
    facts = settled(job__log="error: cannot go on\nConnection refused\n")
    assert [line.level for line in lines(facts)] == ["E", ""]


def test_of_a_storm_the_first_and_the_last_lines_are_kept_and_the_rest_is_counted(
    settled: Settled,
) -> None:
    many = FIRST_MAX + LAST_MAX + 100
    text = "".join(f"{number} Connection refused\n" for number in range(many))
    facts = settled(job__log=text + "Killed\n")
    kept = [line.text for line in lines(facts)]
    assert len(kept) == FIRST_MAX + LAST_MAX + 1
    assert kept[-2:] == [f"{many - 1} Connection refused", "Killed"]
    ended = next(fact for fact in facts if isinstance(fact, OutputEnded))
    assert (ended.lines_heard, ended.lines_left_out) == (many + 1, 100)


def test_kinds_of_lines_are_bounded(settled: Settled) -> None:
    words = [
        "".join(chr(97 + int(digit)) for digit in str(number)) for number in range(KINDS_MAX + 200)
    ]
    facts = settled(job__log="".join(f"{word} Killed\n" for word in words))
    assert len(lines(facts)) <= KINDS_MAX + FIRST_MAX + LAST_MAX


# The end of a file


def test_the_end_says_how_far_it_came_and_when_it_fell_silent(settled: Settled) -> None:
    text = "2026-03-12 07:02:18 step 1\nConnection refused\n2026-03-12 07:02:28 step 40\nlast\n"
    facts = settled(worker_1__out=text)
    by_kind = {type(fact): fact for fact in facts}
    steps, words = by_kind[StepsSeen], by_kind[LastWords]
    assert isinstance(steps, StepsSeen)
    assert isinstance(words, LastWords)
    assert steps.step == 40
    assert words.lines[-1] == "last"
    assert words.stream == "out"
    assert by_kind[OutputEnded].at_s == 10.0
    assert {fact.task for fact in facts[2:]} == {TaskId("worker", 1)}


def test_an_empty_file_said_nothing(settled: Settled) -> None:
    facts = settled(job__log="")
    assert [type(fact) for fact in facts] == [AttemptStarted, LogsGiven, OutputEnded]


def test_a_long_file_is_judged_by_its_tail(settled: Settled) -> None:
    text = "2026-03-12 07:02:18 begun\n" + "2026-03-12 07:03:18 step 12 of many\n" * 2_000
    facts = settled(job__log=text)
    assert [fact.at_s for fact in facts if isinstance(fact, StepsSeen)] == [60.0]
    assert began_of(facts).began_unix_s == AT


def test_steps_of_slurm_are_no_steps_of_training(settled: Settled) -> None:
    text = "step 12 done\nslurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch\n"
    assert [fact.step for fact in settled(a__log=text) if isinstance(fact, StepsSeen)] == [12]


def test_clues_are_bounded() -> None:
    heard = hear_text(
        "a.log", b"x --job_name=ps --task_index=0\n" * 60 + CLUSTER.encode() * 300, TELLING
    )
    assert len(heard.clues) <= 200


CLUSTER = "cluster {'ps': ['host-a:2222'], 'worker': ['host-b:2222', 'host-c:2222']}\n"


@given(
    st.lists(
        st.sampled_from(
            [
                b"Traceback (most recent call last):",
                b"[rank0]: Traceback (most recent call last):",
                b'  File "x.py", line 3',
                b"  + Exception Group Traceback (most recent call last):",
                b"    +---------------- 1 ----------------",
                b"ValueError: bad",
                b"Root Cause:",
                b"\xff\xfe\x00 error",
                b'{"message": "Traceback (most recent call last):\\n x"}',
                b"2026-03-12 07:02:18 ERROR x",
                b"E0229 07:02:18.1 1 a.cc:3] x",
                CLUSTER.encode().strip(),
            ]
        )
        | st.binary(max_size=40),
        max_size=30,
    )
)
def test_no_log_is_too_strange(rows: list[bytes]) -> None:
    log = b"\n".join(rows)
    facts = settle([hear_text("worker-1.err", log, TELLING), hear_text("b.log", log, TELLING)])
    assert all(fact.at_s >= 0 for fact in facts)
    assert facts == settle(
        [hear_text("worker-1.err", log, TELLING), hear_text("b.log", log, TELLING)]
    )
    assert replace(given_of(facts), notes=()).sources == ("worker-1.err", "b.log")
