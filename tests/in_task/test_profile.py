"""`holdfast profile`: a trace from a program that trains on, or a word why there is none."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest
from click.testing import CliRunner
from tests.in_task.conftest import PLAIN, TRAINS, WORD_S_MAX, Job

from holdfast.agent import trace_request
from holdfast.cli import profile
from holdfast.logdir.journal import open_journal
from holdfast.model.cluster import TaskId
from holdfast.model.errors import Unreachable, UsageError
from holdfast.model.facts import AttemptStarted, Fact, TaskExited, TaskStarted

WORKER = TaskId("worker", 0)


def known(job: Job, *facts: Fact) -> None:
    """What the journal of a run would say."""
    here: Any = {"at_s": 0.0, "host": "host-a"}
    with open_journal(job.run_dir) as journal:
        began_s = time.time()
        journal.append(
            AttemptStarted(began_unix_s=began_s, tasks=("worker:0",), holdfast="0", **here)
        )
        journal.append(TaskStarted(task=WORKER, pid=1, **here), *facts)


def steps_made(job: Job) -> int:
    said = (job.run_dir.path / "logs/worker-0.1.out").read_text().split()
    return int(said[-1]) if said else -1


def wait_for_step(job: Job, step: int) -> None:
    until_s = time.monotonic() + WORD_S_MAX
    while steps_made(job) < step:
        assert time.monotonic() < until_s, "it makes no more steps"
        time.sleep(0.05)


def asked(job: Job, *words: str) -> Any:
    return CliRunner().invoke(profile.command, [str(job.run_dir.path), *words])


def test_a_trace_is_recorded_by_a_program_that_trains_on(job: Job) -> None:
    known(job)
    process = job.start(TRAINS)
    wait_for_step(job, 5)
    command = [sys.executable, "-m", "holdfast", "profile", str(job.run_dir.path)]
    done = subprocess.run(
        [*command, "--task", "worker:0", "--seconds", "0.5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folder = job.run_dir.path / "profile"
    assert f"show it: tensorboard --logdir {folder}" in done.stdout
    (trace,) = folder.glob("worker-0/plugins/profile/*/*.xplane.pb")
    assert b"MatMul" in trace.read_bytes()
    made = steps_made(job)
    assert f"steps {made}" not in done.stdout.split(" to ")[0], "it went on meanwhile"
    wait_for_step(job, made + 5)
    assert process.poll() is None
    assert not list(job.folder.glob("profile.*")), "nothing is left of question and answer"


def test_a_program_without_tensorflow_says_so(job: Job) -> None:
    known(job)
    job.start(PLAIN)
    found = asked(job, "--task", "worker:0").exception
    assert isinstance(found, Unreachable)
    assert "this process has not loaded TensorFlow" in found.message


def test_a_question_that_nobody_takes_is_withdrawn(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(job)
    monkeypatch.setattr(trace_request, "TAKEN_S_MAX", 0.2)
    found = asked(job, "--task", "worker:0").exception
    assert isinstance(found, Unreachable)
    assert "has made no step" in found.message
    assert not list(job.folder.iterdir())


@pytest.mark.parametrize(
    "question", ["{", "[]", '{"id": "../x", "seconds": 1}', '{"id": "a", "seconds": "x"}']
)
def test_a_question_that_is_none_of_ours_stops_nobody(job: Job, question: str) -> None:
    path = job.folder / "profile.worker-0.request.json"
    path.write_text(question)
    process = job.start(PLAIN)
    until_s = time.monotonic() + WORD_S_MAX
    while path.exists():
        assert time.monotonic() < until_s, "nobody took it"
        time.sleep(0.02)
    wait_for_step(job, steps_made(job) + 3)
    assert process.poll() is None
    assert [one.name for one in job.folder.iterdir()] == []


def test_only_a_task_that_lives_can_be_asked(job: Job) -> None:
    known(job, TaskExited(at_s=1.0, host="host-a", task=WORKER, exit_code=0))
    ended = asked(job, "--task", "worker:0").exception
    assert isinstance(ended, Unreachable)
    assert "worker:0 has ended" in ended.message
    nobody = asked(job, "--task", "worker:7").exception
    assert isinstance(nobody, UsageError)
    assert nobody.do == "it has worker:0"
    assert not list(job.folder.iterdir())


def test_an_answer_says_what_was_recorded(job: Job) -> None:
    """The two halves agree on names: the program's has no access to ours."""
    known(job)
    job.start(PLAIN)
    (job.folder / "profile.worker-0.request.json").write_text('{"id": "a1", "seconds": 0.1}')
    answer = job.folder / "profile.worker-0.a1.answer.json"
    until_s = time.monotonic() + WORD_S_MAX
    while not answer.exists():
        assert time.monotonic() < until_s, "no answer"
        time.sleep(0.02)
    found = json.loads(answer.read_text())
    assert found["folder"] == str(job.run_dir.path / "profile/worker-0")
    assert found["to_step"] >= found["from_step"] >= 0
