"""Tracebacks are read out of logs, whatever stands before their lines and between them."""

from collections.abc import Callable

import pytest

from holdfast.diagnose.log_ends import LogEnds
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Fact,
    LogLine,
    TracebackSeen,
)
from holdfast.model.hearing import (
    ALSO_HEARS,
    TRACEBACKS_FIRST_MAX,
    TRACEBACKS_LAST_MAX,
    Hearing,
    hear_text,
)
from holdfast.model.log_tracebacks import IDLE_LINES_MAX, LINES_MAX, OPEN_MAX
from holdfast.model.pattern import AnyOf, Pattern

Settled = Callable[..., list[Fact]]

TELLING = AnyOf((*ALSO_HEARS, Pattern("Connection refused"), Pattern("Killed")))


def tracebacks(facts: list[Fact]) -> list[TracebackSeen]:
    return [fact for fact in facts if isinstance(fact, TracebackSeen)]


def lines(facts: list[Fact]) -> list[LogLine]:
    return [fact for fact in facts if isinstance(fact, LogLine)]


def told(facts: list[Fact]) -> list[str]:
    return [f"{one.task} {one.exception}: {one.message}" for one in tracebacks(facts)]


def raised(what: str, prefix: str = "") -> str:
    rows = ("Traceback (most recent call last):", '  File "t.py", line 9, in f', "    go()", what)
    return "".join(f"{prefix}{row}\n" for row in rows)


def test_two_ranks_that_write_over_each_other_are_both_read(settled: Settled) -> None:
    ours = raised("ValueError: bad shard", "[rank0]: ").splitlines()
    theirs = raised("KeyError: 'lr'", "[rank1]: ").splitlines()
    both = [row for pair in zip(ours, theirs, strict=True) for row in pair]
    facts = settled(job__log="\n".join(both))
    assert told(facts) == ["rank:0 ValueError: bad shard", "rank:1 KeyError: 'lr'"]
    assert tracebacks(facts)[0].frames == ("t.py:9 f: go()",)


def test_labels_of_srun_hide_no_traceback(settled: Settled) -> None:
    facts = settled(job__log=raised("ValueError: bad", "3: ") + "step 1\n" + raised("E: x", "4: "))
    assert told(facts) == ["rank:3 ValueError: bad", "rank:4 E: x"]


def test_what_other_ranks_write_on_is_not_the_progress_of_the_one_that_failed(
    settled: Settled,
) -> None:
    failed = raised("ValueError: bad", "[rank3]: ")
    others = settled(job__log=failed + "[rank4]: step 12\n")
    assert not LogEnds(Evidence(others)).goes_on_after(tracebacks(others)[0])
    itself = settled(job__log=failed + "[rank3]: step 12\nstep 13\n")
    assert LogEnds(Evidence(itself)).goes_on_after(tracebacks(itself)[0])
    nobody = settled(job__log=raised("ValueError: bad") + "[rank3]: step 12\n")
    assert LogEnds(Evidence(nobody)).goes_on_after(tracebacks(nobody)[0])


def test_the_root_of_a_chain_comes_first_and_the_final_exception_last(settled: Settled) -> None:
    direct = "\nThe above exception was the direct cause of the following exception:\n\n"
    facts = settled(job__log=raised("KeyError: 'lr'") + direct + raised("RuntimeError: no rate"))
    assert told(facts) == ["None KeyError: 'lr'", "None RuntimeError: no rate"]


def test_the_members_of_a_group_are_exceptions_of_their_own(settled: Settled) -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/user/g.py", line 8, in <module>
  |     f()
  | ExceptionGroup: two inputs (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: bad shard
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/user/g.py", line 5, in g
    |     open("/nonexistent/x")
    | FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent/x'
    +------------------------------------
Killed
"""
    facts = settled(job__log=text)
    assert [one.exception for one in tracebacks(facts)] == [
        "ExceptionGroup",
        "ValueError",
        "FileNotFoundError",
    ]
    assert tracebacks(facts)[2].frames == ('/home/user/g.py:5 g: open("/nonexistent/x")',)
    assert [line.text for line in lines(facts)] == ["Killed"]


def test_the_stack_of_another_process_that_ray_quotes_is_read_too(settled: Settled) -> None:
    outer = raised(
        "ray.exceptions.RayTaskError(ValueError): \x1b[36mray::train()\x1b[39m (pid=7, ip=10.0.0.3)"
    )
    inner = '  File "train.py", line 3, in train\n    go()\nValueError: bad shard\n'
    facts = settled(job__log=outer + inner)
    assert [one.exception for one in tracebacks(facts)] == [
        "ray.exceptions.RayTaskError(ValueError)",
        "ValueError",
    ]
    assert tracebacks(facts)[1].frames == ("train.py:3 train: go()",)


def test_a_traceback_inside_a_record_is_read(settled: Settled) -> None:
    escaped = raised("ValueError: bad").replace("\n", "\\n").replace('"', '\\"')
    in_json = f'{{"message": "gone\\n{escaped}", "severity": "ERROR"}}\n'
    facts = settled(job__log=in_json + f"ERROR:root:failed: {escaped}\n")
    assert told(facts) == ["None ValueError: bad"] * 2
    assert [line.level for line in lines(facts)] == ["E", "E"]


def test_a_logger_that_puts_its_prefix_before_every_line_hides_no_traceback(
    settled: Settled,
) -> None:
    prefix = "2026-03-12 07:02:18,199 ERROR "
    facts = settled(job__log=raised("ValueError: bad", prefix) + f"{prefix}next\n")
    assert told(facts) == ["None ValueError: bad"]
    assert tracebacks(facts)[0].frames == ("t.py:9 f: go()",)
    assert [line.text for line in lines(facts)] == [f"{prefix}next"]


def test_a_record_below_ends_a_traceback_and_is_heard(settled: Settled) -> None:
    record = "2026-03-12 07:02:18.1: E tensorflow/core/x.cc:9] Connection refused"
    facts = settled(job__log=raised("ValueError: bad\n\tmore") + record)
    assert told(facts) == ["None ValueError: bad\n\tmore"]
    assert [line.level for line in lines(facts)] == ["E"]
    first = settled(job__log="ERROR:root:" + raised("ValueError: bad") + record)
    assert told(first) == ["None ValueError: bad"]
    assert len(lines(first)) == 1


def test_what_stands_below_an_exception_may_be_something_else(settled: Settled) -> None:
    facts = settled(job__log=raised("ValueError: bad") + "Killed\nnothing\n")
    assert told(facts) == ["None ValueError: bad\nKilled\nnothing"]
    assert [line.text for line in lines(facts)] == ["Killed"]


def test_a_traceback_does_not_stay_open_for_ever() -> None:
    header = "[rank0]: Traceback (most recent call last):\n"
    hearing = Hearing("job.log")
    hearing.take(header.encode().rstrip(), line=1, offset=0)
    for number in range(IDLE_LINES_MAX + 1):
        assert hearing.wants_more
        hearing.take(b"another", line=number + 2, offset=number + 50, told=False)
    assert not hearing.wants_more
    endless = b"    x\n" * (LINES_MAX + 2)
    heard = hear_text(
        "job.log", header.encode() + endless.replace(b"    ", b"[rank0]:     "), TELLING
    )
    assert not tracebacks(list(heard.facts))


def test_open_tracebacks_are_bounded(settled: Settled) -> None:
    headers = "".join(
        f"[rank{number}]: Traceback (most recent call last):\n" for number in range(OPEN_MAX + 1)
    )
    ends = "".join(f"[rank{number}]: ValueError: {number}\n" for number in range(OPEN_MAX + 1))
    assert len(told(settled(job__log=headers + ends))) == OPEN_MAX


def test_of_many_tracebacks_the_first_and_the_last_are_kept(settled: Settled) -> None:
    many = TRACEBACKS_FIRST_MAX + TRACEBACKS_LAST_MAX + 5
    facts = settled(job__log="".join(raised(f"ValueError: {number}") for number in range(many)))
    assert len(tracebacks(facts)) == TRACEBACKS_FIRST_MAX + TRACEBACKS_LAST_MAX
    assert tracebacks(facts)[-1].message == str(many - 1)


def test_a_stack_quoted_below_an_exception_is_read_too(settled: Settled) -> None:
    """DataLoader's workers send theirs as the message."""
    inner = '  File "data.py", line 36, in get\n    open(x)\nFileNotFoundError: no x\n'
    header = "Traceback (most recent call last):\n"
    older = raised(f"FileNotFoundError: {header}".rstrip()) + inner
    newer = raised("FileNotFoundError: Caught in worker 0.") + f"Original {header}" + inner
    for text in (older, newer):
        found = tracebacks(settled(job__log=text))
        assert [one.exception for one in found] == ["FileNotFoundError"] * 2
        assert found[1].frames == ("data.py:36 get: open(x)",)


# torchrun

SUMMARY = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-03-12_07:02:18
  host      : host-b
  rank      : 3 (local_rank: 1)
  exitcode  : -9 (pid: 128)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 128 failed
"""


def test_what_torchrun_sums_up_is_said_of_the_one_it_names(settled: Settled) -> None:
    child = raised("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    facts = settled(job__log=raised("ValueError: bad") + child + SUMMARY + "=======\nKilled\n")
    assert [one.task for one in tracebacks(facts)] == [TaskId("rank", 3), None]
    heading, *_, last = lines(facts)
    assert (heading.task, heading.host) == (TaskId("rank", 3), "host-b")
    assert (last.text, last.task) == ("Killed", None)


@pytest.mark.parametrize(
    "text",
    [
        "Root Cause:\nnothing more\n",
        "Root Cause:\n" + "more\n" * 20,
        "Root Cause:\n  host : a\n  rank : 3333333 (x)\n",
        "Root Cause:\nERROR:root:Killed\n",
    ],
)
def test_a_summary_that_names_nobody_is_a_line_like_others(settled: Settled, text: str) -> None:
    facts = settled(job__log=text)
    assert lines(facts)[0].text == "Root Cause:"
    assert not any(line.task for line in lines(facts))


CHAIN = """Traceback (most recent call last):
  File "/home/user/train.py", line 2, in read
IndexError: list index out of range

{}

Traceback (most recent call last):
  File "/home/user/train.py", line 5, in close
AttributeError: no close
"""


@pytest.mark.parametrize(
    ("between", "follows"),
    [
        ("The above exception was the direct cause of the following exception:", "cause"),
        ("During handling of the above exception, another exception occurred:", "context"),
        ("INFO: goes on", ""),
        ("During handling of the above exception, another exception occurred:\n\n\n\n\n", ""),
    ],
)
def test_tracebacks_that_python_joins_hang_together(between: str, follows: str) -> None:
    heard = hear_text("worker-1.err", CHAIN.format(between).encode(), TELLING)
    assert [one.follows for one in tracebacks(list(heard.facts))] == ["", follows]
