"""What programs wrote down before their end: read as facts, and nothing else there is believed."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.agent.left_behind import WORDS_BYTES_MAX, left_behind
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.told_facts import ExceptionLeft

BEGAN_S = 1_000.0
ABOUT: dict[str, Any] = {"task": "worker:1", "attempt": 1, "pid": 42, "at": "1970-01-01T00:16:49Z"}
RAISED: dict[str, Any] = {**ABOUT, "exception": "builtins.ValueError", "message": "bad batch"}
UNAVAILABLE: dict[str, Any] = {**RAISED, "code": "UNAVAILABLE", "op": "Send", "named": ["ps:0"]}
WORDS, ERRORS = "worker-1.42.last-words.json", "worker-1.42.errors.jsonl"


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[RunDir]:
    (tmp_path / "in-task").mkdir()
    with RunDir(tmp_path, os.open(tmp_path, os.O_RDONLY)) as opened:
        yield opened


def read(run_dir: RunDir, *known: str) -> list[Fact]:
    where = {"at_s": 10.0, "host": "host-a", "task": TaskId("worker", 1)}
    at_s: Callable[[float], float] = lambda unix_s: unix_s - BEGAN_S  # noqa: E731
    return list(left_behind(where, run_dir.fd, at_s=at_s, known=known))


def put(run_dir: RunDir, name: str, *records: object) -> Path:
    path = run_dir.path / "in-task" / name
    path.write_text("\n".join(map(json.dumps, records)))
    path.chmod(0o600)
    return path


def test_the_exception_that_ended_a_program_is_a_fact_with_all_that_is_known(
    run_dir: RunDir,
) -> None:
    more = {
        "thread": "reader",
        "step": 9,
        "frames": ["/x.py:3 f: g()"],
        "file": "/data/all.h5",
        "mode": "a",
        "from": [{**RAISED, "frames": ["/x.py:9 rows: y"]}],
    }
    put(run_dir, WORDS, {**RAISED, **more, "message": "bad, token=abcdefgh"})
    (found,) = read(run_dir)
    assert isinstance(found, ExceptionLeft)
    assert (found.exception, found.message) == ("ValueError", "bad, token=«redacted:secret»")
    assert (found.at_s, found.pid, found.thread, found.step) == (9.0, 42, "reader", 9)
    assert (found.frames, found.came_from) == (("/x.py:3 f: g()",), ("ValueError: bad batch",))
    assert found.came_from_at == ("/x.py:9 rows: y",)
    assert (found.file, found.mode) == ("/data/all.h5", "a")
    assert (found.source, found.guarded) == (f"in-task/{WORDS}", False)


def test_what_a_guard_knew_of_the_same_exception_is_told_with_it(run_dir: RunDir) -> None:
    put(run_dir, WORDS, RAISED)
    put(run_dir, ERRORS, UNAVAILABLE)
    (found,) = read(run_dir)
    assert isinstance(found, ExceptionLeft)
    assert (found.code, found.op, found.named, found.guarded) == (
        "UNAVAILABLE",
        "Send",
        ("ps:0",),
        False,
    )


def test_of_what_a_guard_saw_the_last_that_was_not_tried_again_counts(run_dir: RunDir) -> None:
    again = {**UNAVAILABLE, "message": "again", "again": True}
    put(run_dir, ERRORS, {**UNAVAILABLE, "message": "first"}, UNAVAILABLE, again)
    (found,) = read(run_dir)
    assert isinstance(found, ExceptionLeft)
    assert (found.message, found.guarded) == ("bad batch", True)
    put(run_dir, ERRORS, again)
    assert read(run_dir) == []


def test_a_file_is_told_once(run_dir: RunDir) -> None:
    put(run_dir, WORDS, RAISED)
    assert read(run_dir, f"in-task/{WORDS}") == []


@pytest.mark.parametrize(
    "name",
    ["worker-11.42.last-words.json", "worker-1.42.last-words.json.old", "ps-1.42.errors.jsonl"],
)
def test_files_of_others_are_none_of_its(run_dir: RunDir, name: str) -> None:
    put(run_dir, name, RAISED)
    assert read(run_dir) == []


@pytest.mark.parametrize("other", [{"task": "worker:2"}, {"attempt": 2}])
def test_a_record_that_names_another_is_ignored(run_dir: RunDir, other: dict[str, Any]) -> None:
    put(run_dir, WORDS, {**RAISED, **other})
    assert read(run_dir) == []


def test_times_that_cannot_be_are_brought_into_the_attempt(run_dir: RunDir) -> None:
    put(run_dir, WORDS, {**RAISED, "at": "2999-01-01T00:00:00Z"})
    put(run_dir, "worker-1.43.last-words.json", {**RAISED, "at": "0001-01-01T00:00:00"})
    assert sorted(fact.at_s for fact in read(run_dir)) == [0.0, 10.0]


def linked(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def open_to_all(path: Path) -> None:
    path.write_text(json.dumps(RAISED))
    path.chmod(0o666)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "link": linked,
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
    "open to all": open_to_all,
    "no JSON": lambda path: path.write_text("{"),
    "a list": lambda path: path.write_text("[]"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "wrong shape": lambda path: path.write_text(json.dumps({**RAISED, "pid": "x"})),
    "long name": lambda path: path.write_text(json.dumps({**RAISED, "exception": "x" * 9_999})),
    "huge": lambda path: path.write_text(json.dumps(RAISED).ljust(WORDS_BYTES_MAX + 9)),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("name", [WORDS, ERRORS])
def test_what_is_not_ours_is_ignored_with_a_word(
    run_dir: RunDir, name: str, make: Callable[[Path], object]
) -> None:
    make(run_dir.path / "in-task" / name)
    found = read(run_dir)
    if not (name == ERRORS and make is HOSTILE["huge"]):  # of a long file the end is read
        (word,) = found
        assert isinstance(word, ProbeBlind)
        assert word.why.startswith(f"in-task/{name} was not read: ")
        assert "\n" not in word.why
    assert not any(isinstance(fact, ExceptionLeft) for fact in found)


def test_control_characters_in_names_are_taken_out(run_dir: RunDir) -> None:
    put(run_dir, WORDS, {**RAISED, "thread": "a\nb\x1b[31m", "exception": "x.Y\nZ"})
    (found,) = read(run_dir)
    assert isinstance(found, ExceptionLeft)
    assert (found.thread, found.exception) == ("a b [31m", "x.Y Z")


def test_a_run_directory_without_such_a_folder_has_nothing(tmp_path: Path) -> None:
    with RunDir(tmp_path, os.open(tmp_path, os.O_RDONLY)) as bare:
        assert read(bare) == []
