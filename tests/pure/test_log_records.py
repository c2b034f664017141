"""What logs say, record by record, whom it names, and what stands out where nothing is proven."""

from dataclasses import replace

from holdfast.diagnose import diagnose
from holdfast.diagnose.by_logs import said
from holdfast.diagnose.log_hits import task_in
from holdfast.diagnose.log_places import address_in, place_of
from holdfast.diagnose.log_records import RECORD_LENGTH_MAX, in_short, records, text_of
from holdfast.diagnose.unusual import unusual
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Fact,
    LastWords,
    LogLine,
    OutputEnded,
    TimePassed,
    TracebackSeen,
)
from holdfast.model.findings import Cause, Finding, Verdict
from holdfast.model.log_facts import LogsGiven
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

W0, W1, W2, PS0 = (TaskId("worker", 0), TaskId("worker", 1), TaskId("worker", 2), TaskId("ps", 0))
PROVEN = Cause(family="disk-full", remedy=AskHuman())


def line(text: str, task: TaskId | None = W0, *, number: int = 1) -> LogLine:
    return LogLine(at_s=1.0, host="", task=task, text=text, line=number, source=f"{task}.log")


def ended(task: TaskId, *lines: str) -> tuple[Fact, ...]:
    return (
        LastWords(at_s=9.0, host="", task=task, lines=lines, source=f"{task}.log"),
        OutputEnded(
            at_s=9.0,
            host="",
            task=task,
            stream="err",
            bytes_total=1,
            lines_total=len(lines),
            lines_heard=0,
            source=f"{task}.log",
        ),
    )


def test_a_message_of_several_lines_is_one_record() -> None:
    facts = (
        line("E it failed", number=3),
        line("Additional GRPC error information from remote target /job:ps/task:0", number=4),
        line("E another", number=5),
        line("  elsewhere", number=50),
        TimePassed(at_s=1.0, host=""),
    )
    seen = records(facts)
    assert [text_of(fact).count("\n") for fact in seen] == [1, 0, 0]
    assert text_of(facts[-1]) == ""


def test_a_record_does_not_grow_without_bound() -> None:
    long = line("x" * (RECORD_LENGTH_MAX + 1), number=1)
    assert len(records([long, line("  more", number=2)])) == 1
    assert text_of(records([long, line("  more", number=2)])[0]) == long.text


def test_noise_is_no_record_and_nothing_continues_it() -> None:
    noise = "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN"
    seen = records([line(noise, number=1), line("  below", number=2)])
    assert [fact.text for fact in seen if isinstance(fact, LogLine)] == ["  below"]


def test_a_line_in_short_has_no_prefix_and_a_bound() -> None:
    assert (
        in_short("2026-11-15 20:00:42.302623: E tensorflow/core/x.cc:240] it failed") == "it failed"
    )
    assert in_short("a" * 300, length_max=10) == "a" * 9 + "…"


def test_tasks_are_read_from_words() -> None:
    assert task_in("/job:ps/replica:0/task:0") == PS0
    assert task_in("Rank 3") == TaskId("rank", 3)
    assert task_in("worker:2") == W2
    assert task_in("gpu-07") is None
    assert place_of(line("x")) == ""
    message = 'in f\n File "/home/user/data.py", line 36, in read'
    inner = TracebackSeen(at_s=1.0, host="", exception="KeyError", message=message)
    assert place_of(inner) == "data.py line 36"


def test_an_address_is_found_and_a_line_of_source_is_none() -> None:
    assert address_in("at tcp_posix.cc:1290] ipv4:10.0.0.7:2222: refused") == "10.0.0.7:2222"
    assert address_in("tcp://host-a:40194 after 10 s") == "host-a:40194"
    assert address_in("HTTPPool(host='host-a', port=80): refused") == "host-a"
    assert address_in("master.cc:1278] nobody there") == ""
    refused = Cause(
        family="connection-refused",
        remedy=AskHuman(),
        words=(Words(Pattern("refused"), blames_nobody=True),),
    )
    (one,) = said(Evidence([line("host-b:2222 refused")]), {"x": refused})
    assert one.proof.place == "host-b:2222"


def test_of_a_log_of_nobody_the_one_task_named_or_the_host_is_blamed() -> None:
    causes = {"x": replace(PROVEN, words=(Words(Pattern("full")),))}
    (one,) = said(Evidence([line("full at /job:ps/task:0", None)]), causes)
    assert one.proof.culprit == PS0
    (two,) = said(Evidence([replace(line("full", None), host="host-a")]), causes)
    assert two.proof.place == "host-a"


def test_a_rank_by_its_number_and_a_mapped_address_are_named_plainly() -> None:
    words = (
        Words(Pattern("missing rank (?P<rank>[0-9]+)")),
        Words(Pattern("no way to (?P<culprit>\\S+)"), says="{culprit} is away"),
        Words(Pattern("no blame"), blames_nobody=True),
        Words(Pattern("named"), blames_named=True, unless=Pattern("never")),
    )
    causes = {"x": replace(PROVEN, words=words, do=("mend it",))}

    def of(text: str) -> Finding | None:
        return next(iter(said(Evidence([line(text, None)]), causes)), None)

    one = of("missing rank 4")
    assert one is not None
    assert one.proof.culprit == TaskId("rank", 4)
    two = of("no way to [::ffff:10.0.0.7]:2222")
    assert two is not None
    assert two.proof.place == "10.0.0.7:2222"
    three = of("no blame")
    assert three is not None
    assert three.proof.do == ("mend it",)
    four = of("named /job:ps/task:0")
    assert four is not None
    assert four.proof.culprit == PS0
    assert of("never named /job:ps/task:0") is None


GIVEN = LogsGiven(at_s=0.0, host="", sources=("job.log",))


def test_trouble_without_a_cause_is_not_called_healthy() -> None:
    bad = replace(line("E something odd 17", W0, number=4), level="E")
    diagnosis = diagnose(Evidence([GIVEN, bad, *ended(W0, "something odd", "bye")]))
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    whys = [one.why for one in diagnosis.unusual]
    assert whys == ["the first that sounds like trouble", "its last words"]


def test_trouble_before_a_good_end_is_healthy() -> None:
    bad = replace(line("E something odd", W0, number=1), level="E")
    diagnosis = diagnose(Evidence([GIVEN, bad, *ended(W0, "odd", "training finished")]))
    assert diagnosis.verdict is Verdict.HEALTHY
    assert diagnosis.unusual == ()


def test_what_only_one_log_says_stands_out() -> None:
    facts = (
        replace(line("E both 1", W0, number=1), level="E"),
        replace(line("E both 2", W1, number=1), level="E"),
        replace(line("E only 0x3f here", W1, number=2), level="E"),
        *ended(W2, ""),
    )
    texts = {one.text: one.why for one in unusual(Evidence(facts))}
    assert texts["E only 0x3f here"] == "no other log says this"
    assert texts["E both 1"] == "the first that sounds like trouble"
