"""Whose a log is, where and when it was written is settled from all of them together."""

from collections.abc import Callable

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    SpecRead,
    TracebackSeen,
)
from holdfast.model.hearing import (
    ALSO_HEARS,
    hear_text,
    settle,
)
from holdfast.model.log_facts import LogsGiven
from holdfast.model.pattern import AnyOf, Pattern

Settled = Callable[..., list[Fact]]

TELLING = AnyOf((*ALSO_HEARS, Pattern("Connection refused"), Pattern("Killed")))
AT = 1773298938.0  # 2026-03-12 07:02:18 UTC


def tracebacks(facts: list[Fact]) -> list[TracebackSeen]:
    return [fact for fact in facts if isinstance(fact, TracebackSeen)]


def lines(facts: list[Fact]) -> list[LogLine]:
    return [fact for fact in facts if isinstance(fact, LogLine)]


def raised(what: str, prefix: str = "") -> str:
    rows = ("Traceback (most recent call last):", '  File "t.py", line 9, in f', "    go()", what)
    return "".join(f"{prefix}{row}\n" for row in rows)


def given_of(facts: list[Fact]) -> LogsGiven:
    return next(fact for fact in facts if isinstance(fact, LogsGiven))


def began_of(facts: list[Fact]) -> AttemptStarted:
    return next(fact for fact in facts if isinstance(fact, AttemptStarted))


def test_a_line_without_a_time_was_written_when_the_last_one_above_it_was(settled: Settled) -> None:
    text = "2026-03-12 07:02:18 a\nb\nConnection refused\n2026-03-12 07:02:19 c\nKilled\n"
    facts = settled(job__log=text)
    assert [line.at_s for line in lines(facts)] == [0.0, 1.0]
    assert began_of(facts).began_unix_s == AT


def test_a_file_without_times_goes_before_nobody(settled: Settled) -> None:
    timed = "2026-03-12 07:02:18 a\n2026-03-12 07:02:28 Connection refused\n"
    facts = settled(worker_1__out=timed, worker_1__err="Killed\n", worker_2__err="Killed\n")
    assert [line.at_s for line in lines(facts)] == [10.0, 10.0, 10.0]
    assert [line.at_s for line in lines(settled(a__log="Killed\n", b__log="Killed\n"))] == [0, 0]


def test_a_day_without_a_year_gets_that_of_the_others(settled: Settled) -> None:
    facts = settled(
        a__log="E0312 07:02:19.0 1 x.cc:1] Killed\n", b__log="2026-03-12 07:02:18 Killed\n"
    )
    assert [line.at_s for line in lines(facts)] == [1.0, 0.0]
    alone = settled(a__log="E0312 07:02:19.0 1 x.cc:1] x\nE0312 07:02:20.0 1 x.cc:1] Killed\n")
    assert [line.at_s for line in lines(alone)] == [0.0, 1.0]
    assert began_of(alone).began_unix_s == 0.0, "nobody knows the year"
    mixed = settled(a__log="E0312 07:02:19.0 1 x.cc:1] x\n2026-03-12 07:02:20 Killed\n")
    assert [line.at_s for line in lines(mixed)] == [0.0, 0.0]


def test_another_time_zone_is_put_right_and_said(settled: Settled) -> None:
    here = "2026-03-12 07:02:18 Killed\n2026-03-12 07:12:18 Killed\n"
    there = here.replace("07:", "09:")
    late = "2026-03-12 09:02:18 Killed\n2026-03-12 09:52:18 Killed\n"
    facts = settled(host_a__log=here, host_b__log=there)
    assert [line.at_s for line in lines(facts)] == [0.0, 600.0] * 2
    assert given_of(facts).notes == (
        "the clock of host-b.log: 2 h ahead of that of host-a.log, taken for another time zone",
    )
    behind = settled(host_b__log=there, host_a__log=here)
    assert "2 h behind" in given_of(behind).notes[0]
    assert given_of(settled(host_a__log=here, host_b__log=late)).notes == ()


def test_local_and_universal_times_in_one_file_are_brought_together(settled: Settled) -> None:
    """TensorFlow writes both: the one when logging is set up, the other before."""
    local = "2026-03-12 02:02:18.0: E tensorflow/x.cc:1] Killed\n"
    universal = "E0000 00:00:1773298939.0   12 x.cc:1] Killed\n"
    odd = universal.replace("1773298939", "1773299739")
    facts = settled(job__log=local + universal + raised("ValueError: bad"))
    assert [line.at_s for line in lines(facts)] == [0.0, 1.0]
    assert tracebacks(facts)[0].at_s == 1.0
    assert began_of(facts).began_unix_s == AT
    other_way = settled(job__log=universal + local)
    assert [line.at_s for line in lines(other_way)] == [1.0, 0.0]
    assert began_of(settled(job__log=local + odd)).began_unix_s == AT - 5 * 3600


def test_both_streams_of_a_task_are_one_and_a_third_file_is_kept_apart(settled: Settled) -> None:
    facts = settled(worker_1__err="Killed\n", worker_1__out="Killed\n")
    assert {(line.task, line.stream) for line in lines(facts)} == {
        (TaskId("worker", 1), "err"),
        (TaskId("worker", 1), "out"),
    }
    heard = [hear_text(f"{folder}/worker-1.log", b"Killed\n", TELLING) for folder in "ab"]
    facts = settle(heard)
    assert {line.task for line in lines(facts)} == {None}
    assert (
        "which of a/worker-1.log, b/worker-1.log is the log of worker:1" in given_of(facts).notes[0]
    )


def test_files_that_say_nothing_of_themselves_are_nobodys(settled: Settled) -> None:
    facts = settled(a__log="Killed\n", b__log="Killed\n")
    assert began_of(facts).tasks == ()


CLUSTER = "cluster {'ps': ['host-a:2222'], 'worker': ['host-b:2222', 'host-c:2222']}\n"


def test_a_task_is_named_by_its_absence(settled: Settled) -> None:
    facts = settled(
        worker_0__out=CLUSTER, ps_0__out="2026-03-12 07:02:18 x\n" + CLUSTER, a__log=CLUSTER
    )
    assert began_of(facts).tasks == ("ps:0", "worker:0", "worker:1")
    specs = {(spec.task, spec.role, spec.index) for spec in facts if isinstance(spec, SpecRead)}
    assert specs == {(TaskId("worker", 0), "worker", "0"), (TaskId("ps", 0), "ps", "0")}
    assert {fact.host for fact in facts if fact.task == TaskId("worker", 0)} == {"host-b"}


def test_a_file_named_after_a_host_is_of_the_only_task_there(settled: Settled) -> None:
    facts = settled(host_b__log=CLUSTER + "Killed\n", host_x__log="Killed\n")
    assert [(line.task, line.host) for line in lines(facts)][-2:] == [
        (TaskId("worker", 0), "host-b"),
        (None, "host-x"),
    ]


def test_what_a_log_says_of_itself_counts_unless_another_has_the_name(settled: Settled) -> None:
    flags = "python t.py --job_name=worker --task_index=1\nKilled\n"
    assert lines(settled(a__log=flags))[-1].task == TaskId("worker", 1)
    facts = settled(a__log=flags, worker_1__log="Killed\n")
    assert [line.task for line in lines(facts)][-2:] == [None, TaskId("worker", 1)]


def test_several_ranks_in_the_log_of_one_task_keep_their_names(settled: Settled) -> None:
    one = settled(worker_1__log="[rank3]: Killed\nKilled\n")
    assert {line.task for line in lines(one)} == {TaskId("worker", 1)}
    two = settled(worker_1__log="[rank3]: Killed\n[rank4]: Killed\nKilled\n")
    assert [str(line.task) for line in lines(two)] == ["rank:3", "rank:4", "worker:1"]


def test_channels_alone_name_the_members(settled: Settled) -> None:
    text = (
        "I x.cc:1] Initialize GrpcChannelCache for job ps -> {0 -> localhost:2222, 1 -> b:2222}\n"
    )
    facts = settled(a__log=text)
    assert began_of(facts).tasks == ("ps:0", "ps:1")
    assert lines(facts)[0].task == TaskId("ps", 0)
    assert lines(facts)[0].host == ""
