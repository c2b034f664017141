"""What stands before a log line is read off it, however many put something there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.log_json import record_in
from holdfast.model.log_prefix import ROUNDS_MAX, is_labelled, said_in
from holdfast.model.log_times import is_dated, seconds_in, with_year

AT = 1773298938.0  # 2026-03-12 07:02:18 UTC
RANK_3 = TaskId("rank", 3)
WORKER_1 = TaskId("worker", 1)
OF_TF = "2026-03-12 07:02:18.199696: W tensorflow/core/framework/op_kernel.cc:1152] Not found"


@pytest.mark.parametrize(
    ("line", "text", "level"),
    [
        (OF_TF, "Not found", "W"),
        ("I tensorflow/core/x.cc:197] Initialize: it", "Initialize: it", "I"),
        ("E0000 00:00:1773298938.451861    9194 server.cc:227] Bad port", "Bad port", "E"),
        ("F0312 07:02:18.199696 12345 file.cc:221] Check failed", "Check failed", "F"),
        ("2026-03-12 07:02:18,199 - train.loop - ERROR - lost", "lost", "E"),
        (
            "[2026-03-12 07:02:18,199] [INFO] [launch.py:319] Killing",
            "[launch.py:319] Killing",
            "I",
        ),
        ("2026-03-12 07:02:18,199 CRITICAL   gone", "gone", "F"),
        ("2026-03-12 07:02:18,199 - ERROR: Exception", "Exception", "E"),
        ("[2026-03-12 07:02:18,858 INFO train.py line 190 13107] Test", "Test", "I"),
        (
            "[2026-03-12 07:02:18.345988: W /x/stall_inspector.cc:107] One or more",
            "One or more",
            "W",
        ),
        ("submitit WARNING (2026-03-12 07:02:18,706) - Bypassing", "Bypassing", "W"),
        ("INFO|2026-03-12T07:02:18|/srv/launcher.py|27| " + OF_TF, "Not found", "W"),
        ("[2026-03-12 07:02:18,568] torch.elastic.api: [ERROR] failed (exit", "failed (exit", "E"),
        ("2026-03-12 07:02:18,199 INFO [main] org.a.B: x", "[main] org.a.B: x", "I"),
        ("26/03/12 07:02:18 ERROR Executor: x", "Executor: x", "E"),
        ("1773298938.864 step 1", "step 1", ""),
        ("[Thu Mar 12 07:02:18 2026] NVRM: Xid", "NVRM: Xid", ""),
        ("2026-03-12T07:02:18+00:00 gpu-07 kernel: NVRM: Xid", "NVRM: Xid", ""),
        ("ERROR:root:bad", "bad", "E"),
        ("WARNING:tensorflow:From x.py", "From x.py", "W"),
        ("ERROR: foo", "foo", "E"),
        ("[W socket.cpp:663] [c10d] The client", "[c10d] The client", "W"),
        ("[libprotobuf ERROR google/x.cc:207] A message", "A message", "E"),
        ("gpu-07:135:132 [0] misc/socket.cc:49 NCCL WARN Connection", "Connection", "W"),
        ("gpu-07:135:132 [0] transport.cc:1 something", "transport.cc:1 something", ""),
        ("[12345.678901] NVRM: Xid", "NVRM: Xid", ""),
        ('  File "x.py", line 3, in f', '  File "x.py", line 3, in f', ""),
        ("| GPU  Name | x", "| GPU  Name | x", ""),
        ("name | x", "name | x", ""),
        ("[0]:", "[0]:", ""),
        ("0: a list", "0: a list", ""),
        ("", "", ""),
        ("{not json}", "{not json}", ""),
        ("\x1b[31mERROR\x1b[0m: foo", "foo", "E"),
    ],
)
def test_what_was_said_comes_out_of_its_prefix(line: str, text: str, level: str) -> None:
    said = said_in(line)
    assert (said.text, said.level) == (text, level)
    timed = "2026" in line or line.startswith(("E0000", "26/", "1773"))
    assert (said.at_unix_s is not None and int(said.at_unix_s) == AT) is timed


@pytest.mark.parametrize(
    ("line", "task", "text"),
    [
        ("[rank3]: Traceback", RANK_3, "Traceback"),
        ("[rank3]:[E0312 07:02:18.426415540 x.cpp:629] [Rank 3] Watchdog", RANK_3, "Watchdog"),
        ("[1,3]<stderr>:    return fn", RANK_3, "   return fn"),
        ("[3]<stdout>:Iter #0", RANK_3, "Iter #0"),
        ("Thu Mar 12 07:02:18 2026[3]<stderr>:x", RANK_3, "x"),
        ("[default3]:x", RANK_3, "x"),
        ("[3]: x", RANK_3, "x"),
        ("[worker-1] x", WORKER_1, "x"),
        ("tf-job-worker-1 | x", WORKER_1, "x"),
        ("worker:1 │ x", WORKER_1, "x"),
        ("[pod/tf-job-worker-1/tensorflow] x", WORKER_1, "x"),
        ("web-7 | x", None, "x"),
        ("(train_fn pid=123, ip=10.0.0.3) x", None, "x"),
        ('{"msg": "x", "pod": "tf-worker-1"}', WORKER_1, "x"),
        ('{"msg": "x", "pod": "tf"}', None, "x"),
        ('{"message": "x", "rank": 3}', RANK_3, "x"),
    ],
)
def test_a_prefix_tells_who_writes(line: str, task: TaskId | None, text: str) -> None:
    said = said_in(line)
    assert (said.task, said.text) == (task, text)


def test_only_where_every_line_has_a_label_it_is_one() -> None:
    """Of srun --label a rank, of pdsh a host."""
    lines = ["3: step 1", " 0: step 1", "3: Traceback (most recent call last):"]
    assert is_labelled(lines)
    assert not is_labelled(lines[:2])
    assert not is_labelled([*lines, "step 2"])
    assert said_in(lines[2], labelled=True).task == RANK_3
    assert said_in("no number", labelled=True).task is None
    hosts = ["host-a: step 1", "10.0.0.2: step 1", "host-a: Traceback (most recent call last):"]
    assert is_labelled(hosts)
    assert said_in(hosts[2], labelled=True).host == "host-a"
    assert said_in(hosts[1], labelled=True).speaker == "10.0.0.2"
    assert not is_labelled(["batch-size: 32", "num.gpus: 8", "lr-0: 0.1"]), "all of them differ"


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("Mar 12 07:02:18 gpu-07 kernel: [1.456789] Out of memory", "gpu-07"),
        ("gpu-07:1356537:1328580 [0] NCCL INFO x", "gpu-07"),
        ("[gpu-07:29731] *** Process received signal ***", "gpu-07"),
        ("srun: error: gpu-07: task 12: Out Of Memory", "gpu-07"),
        ("slurmstepd: error: Detected 2 oom-kill", ""),
        ("(f pid=1, ip=10.0.0.3) x", "10.0.0.3"),
        ('{"log": "x\\n", "hostname": "gpu-07", "stream": "stderr"}', "gpu-07"),
    ],
)
def test_a_prefix_tells_the_host(line: str, host: str) -> None:
    assert said_in(line).host == host


def test_a_launcher_says_error_in_its_own_words() -> None:
    line = "srun: error: host-3: tasks 0-3: Killed"
    assert (said_in(line).text, said_in(line).level) == (line, "E")


def test_prefixes_may_be_nested() -> None:
    said = said_in(f"2026-03-12T09:02:18.5+02:00 stderr F [rank3]: {OF_TF}")
    assert said.at_unix_s == AT + 0.5, "the outer time has a zone"
    assert (said.task, said.stream, said.level, said.text) == (RANK_3, "err", "W", "Not found")
    assert said.carried == OF_TF
    assert said.is_record
    assert said.speaker == "rank3"


def test_a_day_without_a_year_gives_way_to_a_date() -> None:
    said = said_in('{"msg": "E0312 07:02:18.199696 1 a.cc:2] x", "time": "2026-03-12T07:02:18Z"}')
    assert said.at_unix_s == AT
    alone = said_in("E0312 07:02:18.0 1 a.cc:2] x").at_unix_s
    assert alone is not None
    assert not is_dated(alone)
    assert with_year(alone, AT + 5) == AT
    assert with_year(alone, AT - 300 * 86_400) == AT - 365 * 86_400, "the nearest such day"
    inner = said_in("Mar 12 07:02:18 gpu-07 slurmd[12]: 2026-03-12 07:02:18 x").at_unix_s
    assert inner == AT


@pytest.mark.parametrize(
    "line",
    [
        "2026-02-31 07:02:18 x",
        "2026-03-12 27:02:18 x",
        "0000-03-12 07:02:18 x",
        "9999-03-12 07:02:18 x",
        "1970-03-12 07:02:18 x",
        "E1332 07:02:18 x",
    ],
)
def test_a_time_that_never_was_is_none(line: str) -> None:
    assert said_in(line).at_unix_s is None


@pytest.mark.parametrize(
    ("zone", "away_s"), [("Z", 0), ("+02:00", 7200), ("-0530", -19_800), (" UTC", 0), (None, 0)]
)
def test_zones(zone: str | None, away_s: float) -> None:
    found = {"date": "2026-03-12", "clock": "07:02:18", "zone": zone}
    assert seconds_in(found) == AT - away_s


@pytest.mark.parametrize(
    ("line", "text", "level"),
    [
        ('{"message": "a", "severity": "ERROR"}', "a", "ERROR"),
        ('{"textPayload": "a", "severity": "ERROR"}', "a", ""),
        ('{"jsonPayload": {"message": "a", "level": "warn"}}', "a", "WARN"),
        (
            '{"msg": "a", "exc_info": "Traceback\\nValueError: b"}',
            "a\nTraceback\nValueError: b",
            "",
        ),
        ('{"msg": "a b", "stack": "b"}', "a b", ""),
    ],
)
def test_a_record_in_json(line: str, text: str, level: str) -> None:
    record = record_in(line)
    assert record is not None
    assert (record.text, record.level) == (text, level)


@pytest.mark.parametrize(
    "time", ['"2026-03-12T07:02:18Z"', "1773298938", "1773298938000", "1773298938.0"]
)
def test_times_in_json(time: str) -> None:
    record = record_in(f'{{"msg": "a", "ts": {time}}}')
    assert record is not None
    assert record.at_unix_s == AT


@pytest.mark.parametrize(
    "line", ["[1]", "{", "{}", '{"a": 1}', '{"a": [}', "{" + "a" * 20_000 + "}"]
)
def test_what_is_no_record(line: str) -> None:
    assert record_in(line) is None


def test_json_of_any_depth_is_bounded() -> None:
    deep = '{"a":' * 50 + '{"msg": "x"}' + "}" * 50
    assert record_in(deep) is None
    assert record_in('{"msg": "x", "b": true, "ts": "soon"}') is not None


def test_no_more_prefixes_than_the_bound() -> None:
    said = said_in("[rank1]: " * (ROUNDS_MAX + 2) + "x")
    assert said.text == "[rank1]: [rank1]: x"


PIECES = st.sampled_from(
    [
        "2026-03-12 07:02:18.5: ",
        "[rank0]: ",
        "ERROR",
        ":",
        "|",
        "{",
        "}",
        "[",
        "]",
        "E0312 ",
        "\x1b[3",
        '"msg"',
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30).map("".join))
def test_no_line_is_too_strange(line: str) -> None:
    said = said_in(line.encode("utf-8", "replace").decode())
    assert len(said.text) <= len(line)
    assert len(said.level) <= 1
