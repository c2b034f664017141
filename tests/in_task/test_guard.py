"""The guard: what passes is tried again, the rest is kept, and all of it is written down."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.in_task.conftest import Job

PROGRAM = """
import json, time
import tensorflow as tf
import holdfast.tf
from holdfast.in_task import guarding
guarding.FIRST_WAIT_S = 0.01
LOST = "failed to connect to all addresses; /job:worker/replica:0/task:1/device:CPU:0"
found = {}

def failing(error, times):
    calls = []
    def call():
        calls.append(1)
        if len(calls) <= times:
            raise error(None, None, LOST)
        return len(calls)
    return call, calls

def outcome(name, error, times, **asked):
    call, calls = failing(error, times)
    try:
        result = holdfast.tf.guard(**asked)(call)()
    except Exception as raised:
        result = type(raised).__name__
        found[name + " notes"] = getattr(raised, "__notes__", [])
    found[name] = [result, len(calls)]

outcome("unavailable", tf.errors.UnavailableError, 2)
outcome("aborted", tf.errors.AbortedError, 1)
outcome("deadline", tf.errors.DeadlineExceededError, 1)
outcome("repeatable deadline", tf.errors.DeadlineExceededError, 1, repeatable=True)
outcome("invalid", lambda *_: tf.errors.InvalidArgumentError(None, None, "bad shape"), 9)
outcome("too often", tf.errors.UnavailableError, 99, retries_max=2)
outcome("no budget", tf.errors.UnavailableError, 99, budget_s=0.0)
outcome("of its own", lambda *_: ValueError("mine"), 1)
lost = lambda *_: tf.errors.UnavailableError(None, None, "Collective ops is aborted by: collective")
outcome("collective", lost, 1)
AT_NODE = "Detected at node read_rows defined at (most recent call last):\\n"
AT_NODE += "  File \\"train.py\\", line 9\\n\\t [[{{node read_rows}}]] [Op:__inference_step_18]"
outcome("in a graph", lambda *_: tf.errors.UnknownError(None, None, AT_NODE), 1)

tries = []
for attempt in holdfast.tf.guard():
    with attempt:
        tries.append(attempt.number)
        if len(tries) < 3:
            raise tf.errors.UnavailableError(None, None, LOST)
found["loop"] = tries
try:
    with holdfast.tf.guard():
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
except tf.errors.InvalidArgumentError as raised:
    found["block notes"] = raised.__notes__

@holdfast.tf.guard()
def named():
    "says what it does"
found["name"] = [named.__name__, named.__doc__]
print(json.dumps(found))
"""


class Guarded:
    """What the program found, and what it left behind."""

    def __init__(self, found: dict[str, Any], records: list[dict[str, Any]]) -> None:
        self.found, self.records = found, records


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    job = Job(tmp_path_factory.mktemp("guard") / "run")
    finding = {"cause": "peer-gone", "says": "worker:1 is gone"}
    (job.run_dir.path / "findings.jsonl").write_text(json.dumps(finding) + "\n")
    done = job.done(PROGRAM)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in lines(job.folder)]
    job.close()
    return Guarded(json.loads(done.stdout.splitlines()[-1]), records)


def lines(folder: Path) -> list[str]:
    (path,) = folder.glob("worker-0.*.errors.jsonl")
    return path.read_text().splitlines()


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ("unavailable", [3, 3]),
        ("aborted", [2, 2]),
        ("deadline", ["DeadlineExceededError", 1]),
        ("repeatable deadline", [2, 2]),
        ("invalid", ["InvalidArgumentError", 1]),
        ("too often", ["UnavailableError", 3]),
        ("no budget", ["UnavailableError", 1]),
        ("of its own", ["ValueError", 1]),
        ("collective", ["UnavailableError", 1]),
        ("loop", [1, 2, 3]),
        ("name", ["named", "says what it does"]),
    ],
)
def test_what_passes_is_tried_again_within_a_budget(
    guarded: Guarded, case: str, outcome: list[Any]
) -> None:
    assert guarded.found[case] == outcome


def test_what_is_raised_has_a_note_of_what_is_known(guarded: Guarded) -> None:
    (note,) = guarded.found["too often notes"]
    assert note.startswith("holdfast: UNAVAILABLE; speaks of worker:1; tried 3 times over ")
    assert "found so far: worker:1 is gone (peer-gone)" in note
    assert note.endswith(".errors.jsonl")
    (block,) = guarded.found["block notes"]
    assert "does not pass by itself" in block
    assert guarded.found["of its own notes"] == []


def test_each_error_is_written_with_its_context(guarded: Guarded) -> None:
    first = guarded.records[0]
    assert (first["code"], first["named"], first["tries"], first["again"]) == (
        "UNAVAILABLE",
        ["worker:1"],
        1,
        True,
    )
    assert first["frames"][-1].endswith(" call")
    in_graph = next(record for record in guarded.records if record["code"] == "UNKNOWN")
    assert in_graph["node"] == "read_rows", "and not where it was defined"
    last = guarded.records[-1]
    assert last["code"] == "INVALID_ARGUMENT"
    assert last["op"] == "MatMul"
    assert "MatMul" in last["node"]
    assert last["named"] == [], "a process that is no member calls itself localhost"
    assert all(record["exception"] != "builtins.ValueError" for record in guarded.records)
