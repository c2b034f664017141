"""A traceback is read even where its header was cut off, and its place is told in few words."""

import pytest

from holdfast.model.facts import Fact, LogLine, TracebackSeen
from holdfast.model.hearing import ALSO_HEARS, hear_text, settle
from holdfast.model.log_prefix import said_in
from holdfast.model.log_tracebacks import OPEN_MAX, Tracebacks
from holdfast.model.pattern import AnyOf
from holdfast.model.tracebacks import HEADER, TracebackReader, own_frames, place_in

TELLING = AnyOf(ALSO_HEARS)
STACK = '  File "train.py", line 74, in <module>\n    save()\n'


def heard(log: str) -> list[Fact]:
    return settle([hear_text("job.log", log.encode(), TELLING)])


def tracebacks(log: str) -> list[TracebackSeen]:
    return [fact for fact in heard(log) if isinstance(fact, TracebackSeen)]


def test_a_log_that_begins_inside_a_traceback_still_tells_where() -> None:
    (seen,) = tracebacks(STACK + "ValueError: name already exists\nand more of it\n")
    assert seen.exception == "ValueError"
    assert seen.message == "name already exists\nand more of it"
    assert seen.frames == ("train.py:74 <module>: save()",)


def test_the_line_of_such_a_traceback_is_not_told_twice() -> None:
    facts = heard(STACK + "ValueError: name already exists\n")
    assert not [fact for fact in facts if isinstance(fact, LogLine)]


def test_ranks_that_write_over_each_other_keep_their_own_frames() -> None:
    log = (
        '[rank0]:   File "a.py", line 1, in f\n'
        '[rank1]:   File "b.py", line 2, in g\n'
        "[rank0]: KeyError: 'lr'\n"
    )
    (seen,) = tracebacks(log)
    assert seen.frames == ("a.py:1 f",)


@pytest.mark.parametrize(
    "log",
    [
        STACK + "step 10\nValueError: bad shard\n",  # something stands between
        '    said: File "a.py"\nValueError: bad shard\n',  # indented, but no frame
        STACK + "2026-11-16 07:00:00 ERROR ValueError: bad shard\n",  # a record of a logger
        STACK + "End of the error stack\n",
    ],
)
def test_what_only_looks_like_one_is_no_traceback(log: str) -> None:
    assert not tracebacks(log)


def test_too_many_at_once_open_no_more() -> None:
    reading = Tracebacks()
    for rank in range(OPEN_MAX):
        reading.take(said_in(f"[rank{rank}]: {HEADER}"), line=rank, offset=rank)
    above = [said_in('  File "a.py", line 1, in f')]
    reading.resume(said_in("KeyError: 'lr'"), above, line=99, offset=99)
    assert not reading.end()


def test_frames_without_their_indentation_are_frames() -> None:
    reader = TracebackReader()
    for line in ('File "a.py", line 36, in forward', "    x @ y", "RuntimeError: shapes"):
        assert reader.take(line)
    found = reader.result()
    assert found is not None
    assert found.frames == ("a.py:36 forward: x @ y",)


def test_the_banner_of_a_launcher_is_no_part_of_a_message() -> None:
    log = f"{HEADER}\n{STACK}NameError: x\n{'-' * 74}\nmpirun has exited\n"
    assert tracebacks(log)[0].message == "x"


@pytest.mark.parametrize(
    ("frame", "place"),
    [
        ("/home/user/train.py:9 main: go()", "train.py line 9"),
        ("/content/My Drive/sets.py:67 __getitem__", "sets.py line 67"),
        (r"D:\work\train.py:9 main", "train.py line 9"),
        ("models/modules.py:303: return x", "modules.py line 303"),
        ("<stdin>:1 <module>", "<stdin> line 1"),
        ("nothing", ""),
    ],
)
def test_a_place_is_a_file_and_a_line(frame: str, place: str) -> None:
    assert place_in(frame) == place


def test_what_was_installed_is_not_the_program() -> None:
    installed = [
        r"C:\Users\user\Anaconda3\lib\site-packages\torch\serialization.py:242 __init__",
        r"C:\Python39\lib\threading.py:9 run",
        "/usr/lib/python2.7/threading.py:810 run",
        "<string>:132 __init__",
        "pyarrow/error.pxi:83 check_status",
    ]
    assert own_frames([*installed, "train.py:9 main"]) == ["train.py:9 main"]


def test_a_traceback_that_lost_all_of_its_indentation_is_one() -> None:
    (seen,) = tracebacks(
        f"{HEADER}\n"
        'File "a.py", line 1, in <module>\nmain()\n'
        'File "b.py", line 2, in main\n'
        "ValueError: bad shard\n"
    )
    assert seen.frames == ("a.py:1 <module>: main()", "b.py:2 main")
    assert seen.exception == "ValueError"
