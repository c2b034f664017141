"""A job that fails is brought back, as far as that is allowed and helps: real processes."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.facts import (
    AttemptEnded,
    AttemptStarted,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskStarted,
)
from holdfast.model.recovery_facts import (
    CheckpointChosen,
    ProgramRead,
    RemedyAnswered,
    RemedyDecided,
)
from holdfast.model.watch_facts import TakenOver

pytestmark = pytest.mark.timeout(120)
Start = Any
SUPERVISOR = "holdfast.supervisor"
# `killed` tasks end by SIGKILL in attempts up to `times`; everybody else trains to the end.
TRAIN = """
import os, signal, sys, time
killed, times = sys.argv[1].split(","), int(sys.argv[2])
attempt, task = int(os.environ["HOLDFAST_ATTEMPT"]), os.environ["HOLDFAST_TASK"]
print("attempt", attempt, flush=True)
if attempt <= times and task in killed:
    os.kill(os.getpid(), signal.SIGKILL)
print("trained", flush=True)
"""
WAIT_FOR = "while not os.path.exists({name!r}): time.sleep(0.02)\n"


def train(
    start: Start, *options: str, killed: str = "worker:1", times: int = 1, text: str = TRAIN
) -> Any:
    program = start.script("train.py", text)
    words = (sys.executable, program, killed, str(times))
    return start("--workers", "2", *options, "--", *words)


def decided(job: Any) -> list[tuple[int, str]]:
    return [(fact.attempt, fact.remedy) for fact in job.facts(RemedyDecided)]


def attempts(job: Any) -> list[int]:
    return [fact.attempt for fact in job.facts(AttemptStarted)]


def said(job: Any, task: str, attempt: int) -> str:
    path = job.run_dir / "logs" / f"{task.replace(':', '-')}.{attempt}.out"
    text: str = path.read_text()
    return text


def test_a_job_that_was_killed_once_is_relaunched_and_finishes(start: Start) -> None:
    job = train(start, "--on-failure", "recover")
    assert job.wait() == 0
    assert decided(job) == [(1, "relaunch")]
    assert attempts(job) == [1, 2]
    assert said(job, "worker:1", 1) == "attempt 1\n"
    assert said(job, "worker:0", 2) == said(job, "worker:1", 2) == "attempt 2\ntrained\n"
    ends = {(str(fact.task), fact.attempt): fact for fact in job.facts(TaskExited)}
    assert ends["worker:1", 1].signal == signal.SIGKILL
    assert ends["worker:1", 2].exit_code == 0
    starts = [(str(fact.task), fact.attempt, fact.address) for fact in job.facts(TaskStarted)]
    assert starts[0][2] == starts[2][2], "everybody has its old address"
    (ended,) = job.facts(AttemptEnded)
    assert (ended.attempt, ended.exit_code) == (2, 0)
    assert "recovery: relaunch all tasks: worker:1 was ended by SIGKILL" in job.out
    assert "(relaunch 1 of 3)" in job.out
    assert "attempt 2: all 2 tasks are started again" in job.out
    assert "worker:1 │ attempt 2" in job.out
    assert job.report["verdict"] == "healthy"
    (told,) = job.report["recovery"]
    assert (told["attempt"], told["did"], told["culprit"]) == (1, "relaunch all tasks", "worker:1")
    assert told["seconds"].keys() >= {"detect", "decide", "wait", "start"}
    assert "= took     detect" in job.out
    job.nothing_is_left()


def test_without_being_asked_nothing_is_brought_back(start: Start) -> None:
    job = train(start)
    assert job.wait() == 137
    assert attempts(job) == [1]
    assert job.facts(RemedyDecided) == []
    assert "recovery" not in job.out
    assert "recovery" not in job.report
    job.nothing_is_left()


def test_a_task_that_always_dies_uses_up_the_budget_and_no_more(start: Start) -> None:
    job = train(start, "--on-failure", "recover", "--max-relaunches", "1", times=99)
    assert job.wait() == 137
    assert decided(job) == [(1, "relaunch"), (2, "stop")]
    assert attempts(job) == [1, 2]
    assert "no relaunches are left" in job.out
    assert job.root == ("killed-by-signal", "worker:1")
    job.nothing_is_left()


def test_a_budget_of_nothing_allows_nothing(start: Start) -> None:
    job = train(start, "--on-failure", "recover", "--max-relaunches", "0")
    assert job.wait() == 137
    assert decided(job) == [(1, "stop")]
    job.nothing_is_left()


def test_the_same_failure_at_the_same_step_ends_the_loop(start: Start) -> None:
    steps = "for step in range(1, 8):\n    print(f'step {step}', flush=True)\n    time.sleep(0.5)\n"
    text = TRAIN.replace("if attempt <= times", steps + "if attempt <= times")
    job = train(start, "--on-failure", "recover", times=99, text=text)
    assert job.wait(80) == 1
    assert decided(job) == [(1, "relaunch"), (2, "stop")]
    assert "the same failure came twice at the same step" in job.out
    job.nothing_is_left()


def test_a_mistake_in_the_program_is_not_tried_again(start: Start) -> None:
    text = TRAIN.replace("os.kill(os.getpid(), signal.SIGKILL)", "1 / 0")
    job = train(start, "--on-failure", "recover", text=text)
    assert job.wait() == 1
    assert decided(job) == [(1, "stop")]
    assert attempts(job) == [1]
    assert "no relaunch can fix this" in job.out
    job.nothing_is_left()


@pytest.mark.parametrize("options", [("--on-failure", "recover"), ()], ids=" ".join)
def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    start: Start, options: tuple[str, ...]
) -> None:
    job = train(start, *options, "--dry-run")
    assert job.wait() == 137
    (fact,) = job.facts(RemedyDecided)
    assert (fact.remedy, fact.dry_run) == ("relaunch", True)
    assert attempts(job) == [1]
    assert "recovery: dry run, not done: relaunch all tasks" in job.out
    job.nothing_is_left()


def test_where_nobody_can_be_asked_it_is_only_said_what_would_be_done(start: Start) -> None:
    job = train(start, "--on-failure", "ask")
    assert job.wait() == 137
    assert attempts(job) == [1]
    assert "recovery: dry run, not done: relaunch all tasks" in job.out
    job.nothing_is_left()


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_person_decides(start: Start, terminal: Any, answer: str) -> None:
    program = start.script("train.py", TRAIN)
    words = (sys.executable, program, "worker:1", "1")
    job = start("--workers", "2", "--on-failure", "ask", "--", *words, **terminal.settings)
    terminal.until_shows("relaunch the job? Type yes or no")
    terminal.type(f"{answer}\n".encode())
    assert terminal.wait(job) == (0 if answer == "yes" else 137)
    (answered,) = job.facts(RemedyAnswered)
    assert answered.yes is (answer == "yes")
    assert attempts(job) == ([1, 2] if answer == "yes" else [1])
    assert decided(job) == [(1, "ask")] + ([] if answer == "yes" else [(1, "stop")])
    assert answer == "yes" or "somebody said no" in terminal.text
    job.nothing_is_left()


def kill_supervisor(job: Any, poll_until: Any) -> None:
    pid = job.helper(SUPERVISOR)
    os.kill(pid, signal.SIGKILL)
    poll_until(lambda: pid not in job.left(), "the supervisor to be gone")


def second_wait(start: Start, poll_until: Any, *options: str) -> Any:
    """A job whose second relaunch waits: the first comes at once."""
    job = train(start, "--on-failure", "recover", *options, times=2)
    poll_until(lambda: len(job.facts(RemedyDecided)) == 2, "the second decision")
    assert job.facts(RemedyDecided)[1].wait_s > 1
    return job


def test_the_budget_survives_the_death_of_the_supervisor(start: Start, poll_until: Any) -> None:
    job = second_wait(start, poll_until, "--max-relaunches", "2")
    kill_supervisor(job, poll_until)
    assert job.wait() == 69
    joined = start.join(job, "attach", str(job.run_dir))
    assert joined.wait() == 0
    assert len(job.facts(TakenOver)) == 1
    assert decided(job) == [(1, "relaunch"), (2, "relaunch")]
    assert attempts(job) == [1, 2, 3]
    waited_s = job.facts(RemedyDecided)[1].wait_s
    second, third = job.facts(AttemptStarted)[1:]
    due_unix_s = second.began_unix_s + job.facts(RemedyDecided)[1].at_s + waited_s
    assert third.began_unix_s >= due_unix_s - 0.1, "it waits as long as was decided"
    assert said(job, "worker:1", 3) == "attempt 3\ntrained\n"
    job.nothing_is_left()


def test_a_budget_that_was_used_up_stays_used_up(start: Start, poll_until: Any) -> None:
    text = TRAIN.replace("if attempt <= times", WAIT_FOR.format(name="go") + "if attempt <= times")
    job = train(start, "--on-failure", "recover", "--max-relaunches", "1", times=99, text=text)
    (start.place / "go").touch()
    poll_until(lambda: attempts(job) == [1, 2], "the second attempt")
    (start.place / "go").unlink(missing_ok=True)
    kill_supervisor(job, poll_until)
    (start.place / "go").touch()
    joined = start.join(job, "attach", str(job.run_dir))
    assert joined.wait() == 137
    assert attempts(job) == [1, 2]
    assert decided(job) == [(1, "relaunch"), (2, "stop")]
    job.nothing_is_left()


@pytest.mark.parametrize("how", ["Ctrl-C", "stop"])
def test_whoever_asks_for_the_end_while_it_waits_gets_it(
    start: Start, poll_until: Any, holdfast: Any, how: str
) -> None:
    job = second_wait(start, poll_until)
    if how == "Ctrl-C":
        job.front.send_signal(signal.SIGINT)
    else:
        assert holdfast("stop", str(job.run_dir)).returncode == 0
    assert job.wait() == (130 if how == "Ctrl-C" else 143)
    assert attempts(job) == [1, 2]
    (asked,) = job.facts(StopAsked)
    sent = [fact for fact in job.facts(SignalSent) if fact.attempt == asked.attempt]
    assert [fact for fact in sent if fact.at_s >= asked.at_s] == []
    job.nothing_is_left()


CLUSTER = "# ParameterServerStrategy\n" + TRAIN.replace(
    "if attempt <= times and task in killed:",
    "again = os.path.exists('was-' + task)\n"
    "open('was-' + task, 'w').close()\n"
    "if task in killed and not again:",
).replace('print("trained"', WAIT_FOR.format(name="late") + 'print("trained"')


def cluster(start: Start, *options: str, killed: str, text: str = CLUSTER) -> Any:
    program = start.script("train.py", text)
    words = (sys.executable, program, killed, "1")
    return start("--ps", "1", "--chief", "--workers", "2", *options, "--", *words)


def test_a_worker_that_may_come_back_alone_is_restarted_while_the_others_train(
    start: Start, poll_until: Any
) -> None:
    job = cluster(start, "--on-failure", "recover", killed="worker:1")
    poll_until(lambda: job.log("worker:1").count(b"attempt 1\n") == 2, "worker:1 to be back")
    (start.place / "late").touch()
    assert job.wait() == 0
    assert decided(job) == [(1, "restart")]
    assert attempts(job) == [1]
    assert [fact.mentions for fact in job.facts(ProgramRead)] == [("ParameterServerStrategy",)]
    starts = [fact for fact in job.facts(TaskStarted) if str(fact.task) == "worker:1"]
    assert len({fact.pid for fact in starts}) == 2
    assert len({fact.address for fact in starts}) == 1
    assert len(job.facts(TaskStarted)) == 5, "nobody else was started again"
    assert job.log("worker:1") == b"attempt 1\nattempt 1\ntrained\n"
    assert "recovery: restart worker:1" in job.out
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


def test_a_lost_parameter_server_takes_the_whole_job_along(start: Start) -> None:
    (start.place / "late").touch()
    text = CLUSTER + "if attempt == 1 or task == 'ps:0': time.sleep(600)\n"
    job = cluster(start, "--on-failure", "recover", "--grace-s", "1", killed="ps:0", text=text)
    assert job.wait(80) == 0
    assert decided(job) == [(1, "relaunch")]
    assert attempts(job) == [1, 2]
    assert "the variables of ps:0 are gone" in job.out
    job.nothing_is_left()


TAKEN = """
import json, os, socket, sys
print(*sys.argv[1:], os.environ["BESIDE"])
place = json.loads(os.environ["TF_CONFIG"])
port = int(place["cluster"]["worker"][place["task"]["index"]].rpartition(":")[2])
if os.environ["HOLDFAST_ATTEMPT"] == "1" and place["task"]["index"] == 1:
    stranger = socket.create_server(("127.0.0.1", port))
socket.create_server(("127.0.0.1", port))
"""


def test_where_a_port_is_taken_the_next_attempt_gets_others(start: Start) -> None:
    program = start.script("taken.py", TAKEN)
    job = start(
        *("--workers", "2", "--on-failure", "recover", "--env", "BESIDE={worker_hosts}"),
        *("--", sys.executable, program, "{rank}", "{address}"),
    )
    assert job.wait() == 0
    (fact,) = job.facts(RemedyDecided)
    assert (fact.remedy, fact.cause, fact.fresh_ports) == ("relaunch", "port-conflict", True)
    first, second = (
        {fact.address for fact in job.facts(TaskStarted) if fact.attempt == attempt}
        for attempt in (1, 2)
    )
    assert not first & second
    where = job.about["cluster"]
    assert set(where.values()) == second
    # Also in the words of the command and in the variables that have placeholders.
    hosts = f"{where['worker:0']},{where['worker:1']}"
    assert said(job, "worker:1", 2) == f"1 {where['worker:1']} {hosts}\n"
    job.nothing_is_left()


def bundle(folder: Path, name: str, *, whole: bool = True) -> None:
    """A checkpoint of TensorFlow, as far as names and sizes go."""
    index = b"\0" * 64 + bytes.fromhex("57fb808b247547db")
    (folder / f"{name}.index").write_bytes(index)
    if whole:
        (folder / f"{name}.data-00000-of-00001").write_bytes(b"weights")


def test_the_newest_whole_checkpoint_is_the_one_that_is_restored(start: Start) -> None:
    folder = start.place / "checkpoints"
    folder.mkdir()
    bundle(folder, "model.ckpt-100")
    (folder / "model.ckpt-100.meta").write_bytes(b"graph")
    bundle(folder, "model.ckpt-200", whole=False)
    (folder / "checkpoint").write_text(
        'model_checkpoint_path: "model.ckpt-200"\n'
        'all_model_checkpoint_paths: "model.ckpt-100"\n'
        'all_model_checkpoint_paths: "model.ckpt-200"\n'
    )
    # Without an interpreter that could read it, names and sizes are all there is.
    words = ("env", sys.executable, start.script("train.py", TRAIN), "worker:1", "1")
    options = ("--on-failure", "recover", "--checkpoint-dir", "checkpoints")
    job = start("--workers", "2", *options, "--", *words)
    assert job.wait() == 0
    (chosen,) = job.facts(CheckpointChosen)
    assert chosen.path == str(folder / "model.ckpt-100")
    assert (chosen.step, chosen.attempt) == (100, 1)
    assert any("model.ckpt-200" in passed for passed in chosen.passed_over)
    assert 'model_checkpoint_path: "model.ckpt-100"' in (folder / "checkpoint").read_text()
    assert "recovery: begins from" in job.out
    assert json.loads((job.run_dir / "fences" / "job").read_text())["attempt"] == 2
    job.nothing_is_left()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--on-failure", "pray"), "'pray' is not one of"),
        (("--max-relaunches", "-1"), "-1 relaunches are not between 0 and 1000"),
        (("--max-relaunches", "many"), "is not a valid integer"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_makes_no_sense_is_refused(holdfast: Any, words: tuple[str, ...], says: str) -> None:
    refused = holdfast("run", *words, "--", "true")
    assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr
