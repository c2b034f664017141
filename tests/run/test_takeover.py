"""The supervisor may die; the training goes on, and another supervisor takes it over."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.model.facts import (
    AttemptEnded,
    AttemptStarted,
    LeftoverEnded,
    OutputEnded,
    ProbeBlind,
    SignalSent,
    TaskExited,
    TaskStarted,
)
from holdfast.model.watch_facts import TakenOver

pytestmark = pytest.mark.timeout(90)
Start = Any
Holdfast = Callable[..., Any]
SUPERVISOR, HOLDER = "holdfast.supervisor", "holdfast.agent.hold"
# worker:1 ends when `early` is there, the others when `late` is: each with a code of its own.
ENDS = """
echo begun
case $HOLDFAST_TASK in worker:1) until [ -e early ]; do sleep 0.02; done; seq 1 999; exit 5;; esac
until [ -e late ]; do sleep 0.02; done
seq 1 999
exit 0
"""


def waiting(start: Start, *options: str, workers: int = 2, text: str = ENDS) -> Any:
    """With a parameter server: the others train on when worker:1 fails."""
    program = start.script("ends.sh", text)
    job = start("--ps", "1", "--workers", str(workers), *options, "--", "sh", program)
    for task in ("ps:0", *(f"worker:{index}" for index in range(workers))):
        job.until_says(task, b"begun\n")
        job.pid_of(task)
    return job


def kill(job: Any, module: str, poll_until: Any) -> int:
    pid: int = job.helper(module)
    os.kill(pid, signal.SIGKILL)
    poll_until(lambda: not is_running(pid), f"{module} to be gone")
    return pid


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0] != "Z"


def held(job: Any) -> list[dict[str, Any]]:
    """What the holder has written down."""
    path = job.run_dir / "holder.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def until_held(job: Any, kind: str, task: str, poll_until: Any) -> float:
    """When something happened to a task, by the attempt's clock."""

    def found() -> list[float]:
        zero_s = held(job)[0]["zero_s"] if held(job) else 0.0
        return [
            one["at"] - zero_s for one in held(job) if (one["is"], one.get("task")) == (kind, task)
        ]

    poll_until(found, f"the holder to see that {task} {kind}")
    return found()[0]


def codes(job: Any) -> dict[str, int | None]:
    """How each task ended; told exactly once."""
    ends = job.facts(TaskExited)
    assert max(Counter(fact.task for fact in ends).values()) == 1
    return {str(fact.task): fact.exit_code for fact in ends}


def go(start: Start, *names: str) -> None:
    for name in names:
        (start.place / name).touch()


@pytest.mark.parametrize("words", [("attach",), ("run", "--resume")], ids=" ".join)
def test_a_new_front_shows_on_what_a_killed_one_showed(
    start: Start, poll_until: Any, words: list[str]
) -> None:
    job = waiting(start)
    job.front.kill()
    job.front.wait()
    joined = start.join(job, *words, str(job.run_dir))
    poll_until(lambda: joined.out.count("begun") == 3, "the new front to show the last lines")
    go(start, "early", "late")
    assert joined.wait() == 1
    assert "worker:0 │ 999" in joined.out
    assert codes(job) == {"worker:0": 0, "worker:1": 5, "ps:0": codes(job)["ps:0"]}
    assert job.facts(TakenOver) == []
    job.nothing_is_left()


@pytest.mark.parametrize("words", [("attach",), ("run", "--resume")], ids=" ".join)
def test_how_a_task_ended_is_known_although_nobody_looked(
    start: Start, poll_until: Any, words: list[str]
) -> None:
    job = waiting(start)
    gone = kill(job, SUPERVISOR, poll_until)
    assert job.wait() == 69
    assert "holdfast attach" in job.err
    before = {str(fact.task): fact.pid for fact in job.facts(TaskStarted)}
    go(start, "early")
    ended_s = until_held(job, "exited", "worker:1", poll_until)
    joined = start.join(job, *words, str(job.run_dir))
    taken = job.until_fact(TakenOver)
    poll_until(lambda: "worker:1" in codes(job), "worker:1's end to be told")
    assert is_running(before["worker:0"])
    go(start, "late")
    assert joined.wait() == 1
    assert {**codes(job), "ps:0": None} == {"worker:0": 0, "worker:1": 5, "ps:0": None}
    (exited,) = [fact for fact in job.facts(TaskExited) if str(fact.task) == "worker:1"]
    assert exited.at_s == pytest.approx(ended_s, abs=0.001)
    assert taken.gone_s < exited.at_s < taken.at_s
    assert taken.pid == gone
    assert "taken over: nobody had looked for" in joined.out
    assert {str(fact.task): fact.pid for fact in job.facts(TaskStarted)} == before
    for task in ("worker:0", "worker:1"):
        assert job.log(task) == b"begun\n" + b"".join(b"%d\n" % n for n in range(1, 1000))
    assert len(job.facts(OutputEnded)) == 6
    assert len(job.facts(AttemptStarted)) == len(job.facts(AttemptEnded)) == 1
    (lost,) = [found for found in job.report["findings"] if found["cause"] == "agent-lost"]
    assert (lost["severity"], lost["culprit"]) == ("warning", None)
    assert "worker:1 ended meanwhile" in lost["says"]
    job.nothing_is_left()


def test_of_two_who_take_over_one_does_and_the_other_watches(start: Start, poll_until: Any) -> None:
    job = waiting(start)
    kill(job, SUPERVISOR, poll_until)
    fronts = [start.join(job, "attach", str(job.run_dir)) for _ in range(3)]
    job.until_fact(TakenOver)
    for front in fronts:
        poll_until(lambda front=front: front.out.count("begun") == 3, "each front to show it")
    go(start, "early", "late")
    assert [front.wait() for front in fronts] == [1, 1, 1], [front.err for front in fronts]
    assert len(job.facts(TakenOver)) == 1
    assert all("worker:0 │ 999" in front.out for front in fronts)
    assert codes(job)["worker:1"] == 5
    job.nothing_is_left()


def test_nobody_is_started_twice_when_the_supervisor_dies_while_it_starts_them(
    start: Start, poll_until: Any
) -> None:
    count = 60
    job = start("--workers", str(count), "--quiet", "--", "sh", "-c", "echo begun; exec sleep 600")
    supervisor = job.helper(SUPERVISOR)  # to look for it takes time that they are started in
    poll_until(lambda: len(held(job)) > 5, "some tasks to be started")
    os.kill(supervisor, signal.SIGKILL)
    poll_until(lambda: not is_running(supervisor), "the supervisor to be gone")
    assert len(held(job)) < count, "it was killed too late for this test"
    joined = start.join(job, "attach", str(job.run_dir))
    names = [f"worker:{index}" for index in range(count)]
    for task in names:
        job.until_says(task, b"begun\n")
    poll_until(lambda: len(job.facts(TaskStarted)) == count, "all starts to be told")
    assert sorted(str(fact.task) for fact in job.facts(TaskStarted)) == sorted(names)
    assert len(set(os.listdir(job.run_dir / "logs"))) == 2 * count  # noqa: PTH208
    joined.front.send_signal(signal.SIGINT)
    assert joined.wait() == 130
    assert all(job.log(task) == b"begun\n" for task in names)
    assert Counter(codes(job).values()) == {None: count}
    job.nothing_is_left()


def test_a_supervisor_may_die_again_and_again(start: Start, poll_until: Any) -> None:
    job = waiting(start)
    for times in range(1, 4):
        gone = kill(job, SUPERVISOR, poll_until)
        front = start.join(job, "attach", "--", str(job.run_dir))
        poll_until(lambda times=times: len(job.facts(TakenOver)) == times, "the next to take over")
        assert job.facts(TakenOver)[-1].pid == gone
    go(start, "early", "late")
    assert front.wait() == 1
    assert codes(job)["worker:1"] == 5
    assert codes(job)["worker:0"] == 0
    job.nothing_is_left()


@pytest.mark.parametrize("how", ["Ctrl-C", "stop", "stop --now"])
def test_a_job_that_was_taken_over_can_be_ended(
    start: Start, holdfast: Holdfast, poll_until: Any, how: str
) -> None:
    text = "trap 'echo saved; exit 0' TERM INT; echo begun; while :; do sleep 0.05; done"
    job = waiting(start, "--grace-s", "20", text=text)
    kill(job, SUPERVISOR, poll_until)
    assert holdfast("stop", str(job.run_dir)).returncode == 69
    front = start.join(job, "attach", str(job.run_dir))
    job.until_fact(TakenOver)
    if how == "Ctrl-C":
        front.front.send_signal(signal.SIGINT)
    else:
        poll_until(
            lambda: holdfast(*how.split(), str(job.run_dir)).returncode == 0, "the door to open"
        )
    assert front.wait() == (130 if how == "Ctrl-C" else 143)
    said = b"begun\n" if how == "stop --now" else b"begun\nsaved\n"
    assert job.log("worker:0") == job.log("worker:1") == said
    assert len(job.facts(SignalSent)) == 3
    job.nothing_is_left()


def test_what_a_task_left_behind_before_the_takeover_is_ended(
    start: Start, poll_until: Any
) -> None:
    text = "(setsid sleep 600 &); sleep 600 & " + ENDS
    job = waiting(start, text=text)
    kill(job, SUPERVISOR, poll_until)
    go(start, "early", "late")
    until_held(job, "exited", "worker:0", poll_until)
    assert start.join(job, "attach", str(job.run_dir)).wait() == 1
    job.nothing_is_left()
    assert len({fact.pid for fact in job.facts(LeftoverEnded)}) == 6


def test_all_that_happened_is_told_when_everybody_had_ended(start: Start, poll_until: Any) -> None:
    """The holder keeps it until somebody comes; nothing is left to be done but the verdict."""
    job = waiting(start, text=ENDS.replace("until [ -e late ]; do sleep 0.02; done", ""))
    kill(job, SUPERVISOR, poll_until)
    go(start, "early")
    for task in ("worker:0", "worker:1", "ps:0"):
        until_held(job, "exited", task, poll_until)
    poll_until(lambda: job.left() == [job.helper(HOLDER)], "only the holder to be left")
    front = start.join(job, "attach", str(job.run_dir))
    assert front.wait() == 1
    assert codes(job) == {"worker:0": 0, "worker:1": 5, "ps:0": 0}
    job.nothing_is_left()
    again = start.join(job, "attach", str(job.run_dir))
    assert again.wait() == 1
    assert "this run is over" in again.err
    assert f"holdfast diagnose {job.run_dir}" in again.err


def test_a_pause_of_the_supervisor_harms_nobody(start: Start, poll_until: Any) -> None:
    job = waiting(start)
    supervisor = job.helper(SUPERVISOR)
    os.kill(supervisor, signal.SIGSTOP)
    go(start, "early")
    ended_s = until_held(job, "exited", "worker:1", poll_until)
    other = start.join(job, "attach", str(job.run_dir))  # it lives: nobody takes it over
    poll_until(lambda: "999" in other.out, "the new front to show what was written")
    os.kill(supervisor, signal.SIGCONT)
    go(start, "late")
    assert job.wait() == other.wait() == 1
    (exited,) = [fact for fact in job.facts(TaskExited) if str(fact.task) == "worker:1"]
    assert exited.at_s == pytest.approx(ended_s, abs=0.001)
    assert job.facts(TakenOver) == []
    assert codes(job)["worker:0"] == 0
    job.nothing_is_left()


def test_without_the_holder_the_tasks_go_on_and_their_ends_are_unknown(
    start: Start, poll_until: Any
) -> None:
    job = waiting(start)
    kill(job, HOLDER, poll_until)
    poll_until(
        lambda: any(fact.probe == "holder" for fact in job.facts(ProbeBlind)), "that to be told"
    )
    assert all(is_running(fact.pid) for fact in job.facts(TaskStarted))
    go(start, "early", "late")
    assert job.wait() == 69
    assert set(codes(job).values()) == {None}
    assert job.report["verdict"] == "cannot-tell"
    assert any("how worker:0 ended" in unknown for unknown in job.report["unknown"])
    assert not [fact for fact in job.facts(SignalSent) if fact.task and fact.task.role != "ps"]
    (job.run_dir / "holder.sock").unlink()  # of one that was killed
    job.nothing_is_left()


@pytest.mark.parametrize("early", [False, True], ids=["all run on", "one has ended"])
def test_without_supervisor_and_holder_nothing_is_started_again(
    start: Start, poll_until: Any, *, early: bool
) -> None:
    job = waiting(start)
    kill(job, SUPERVISOR, poll_until)
    if early:
        go(start, "early")
        until_held(job, "exited", "worker:1", poll_until)
    kill(job, HOLDER, poll_until)
    front = start.join(job, "attach", str(job.run_dir))
    job.until_fact(TakenOver)
    pids = {fact.pid for fact in job.facts(TaskStarted)}
    go(start, "early", "late")
    # What the holder wrote down before it died counts.
    assert front.wait() == (1 if early else 69)
    assert codes(job)["worker:1"] == (5 if early else None)
    assert {fact.pid for fact in job.facts(TaskStarted)} == pids
    assert "holder of the tasks: it is gone" in front.out
    assert any("how worker:0 ended" in unknown for unknown in job.report["unknown"])


def test_many_deaths_at_once_are_all_told(start: Start) -> None:
    count = 150
    job = start(
        *("--workers", str(count), "--quiet", "--", "sh", "-c"),
        "until [ -e go ]; do sleep 0.3; done; exit $((${HOLDFAST_TASK#worker:} % 7 + 1))",
    )
    job.pid_of(f"worker:{count - 1}")
    go(start, "go")
    assert job.wait(80) == 1
    assert codes(job) == {f"worker:{index}": index % 7 + 1 for index in range(count)}
    job.nothing_is_left()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("run", "--resume", "RUN", "--ps", "1"), 2, "ps was given, too"),
        (("run", "--resume", "RUN", "--", "true"), 2, "command was given, too"),
        (("attach", "RUN", "--latency"), 2, "without other options"),
        (("run", "--resume", "nowhere"), 66, "there is no"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_wish_to_go_on_is_refused(
    start: Start, holdfast: Holdfast, words: tuple[str, ...], code: int, says: str
) -> None:
    job = start("--", "true")
    assert job.wait() == 0
    said = holdfast(*(word.replace("RUN", str(job.run_dir)) for word in words))
    assert (said.returncode, says in said.stderr) == (code, True), said.stderr


def test_a_run_that_died_before_it_began_cannot_be_resumed(start: Start, holdfast: Any) -> None:
    job = start("--", "true")
    assert job.wait() == 0
    for name in ("holder.jsonl", "journal.db", "journal.db-wal", "journal.db-shm"):
        (job.run_dir / name).unlink(missing_ok=True)
    said = holdfast("attach", str(job.run_dir))
    assert said.returncode == 66
    assert "there is no journal" in said.stderr
