"""A program tells how far it is, and never notices whether anybody listens."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.in_task.conftest import Job

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProbeBlind
from holdfast.model.told_facts import DifferenceTold, ErrorTold, LossTold
from holdfast.model.watch_facts import StepsSeen

WORKER = TaskId("worker", 0)
STEPS = """
import holdfast, itertools, time
for step in itertools.count(1000):
    holdfast.progress(step, loss={loss})
    print("step", step - 900, flush=True)
    time.sleep(0.01)
"""
TELLS_ONCE = """
import sys
from holdfast.in_task.telling import teller
teller().say({message})
sys.stdin.read()
"""


def test_steps_that_are_told_win_over_those_in_the_log(job: Job) -> None:
    job.watch()
    job.start(STEPS.format(loss=0.5))
    seen = job.heard(StepsSeen, lambda fact: fact.source == "told")
    assert seen.task == WORKER
    assert seen.step >= 1000, "the log says 100"
    paced = job.heard(StepsSeen, lambda fact: fact.step_s > 0)
    assert paced.source == "told"
    assert 0.005 < paced.step_s < 1.0


def test_a_loss_that_is_no_number_is_told_while_the_training_goes_on(job: Job) -> None:
    job.watch()
    job.start(STEPS.format(loss="float('nan') if step > 1050 else 0.5"))
    first = job.heard(LossTold, lambda fact: fact.state == "nan")
    assert first.task == WORKER
    assert first.since_step > 1050
    surely = job.heard(LossTold, lambda fact: fact.tells >= 3)
    assert surely.since_step == first.since_step


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            {
                "is": "differs",
                "about": "variable",
                "name": "kernel",
                "values": {"[1]": ["worker:0"], "[2]": ["worker:1"]},
            },
            DifferenceTold,
        ),
        ({"is": "error", "exception": "UnavailableError", "message": "no", "tries": 2}, ErrorTold),
    ],
)
def test_what_happens_once_waits_until_somebody_listens(
    job: Job, message: dict[str, object], kind: type[Fact]
) -> None:
    code = TELLS_ONCE.format(message=message).replace(
        "sys.stdin.read()",
        "import time\nwhile True:\n    teller().step(1, {})\n    time.sleep(0.05)",
    )
    process = job.start(code)
    watcher = job.watch()
    watcher.started(WORKER, process.pid)
    assert job.heard(kind, lambda _: True).task == WORKER


def test_a_program_trains_on_when_the_watcher_dies(job: Job) -> None:
    first = job.watch()
    process = job.start(STEPS.format(loss=0.5))
    job.heard(StepsSeen, lambda fact: fact.source == "told")
    first.kill()
    assert process.poll() is None


def sent(path: Path, *messages: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(path))
        for message in messages:
            sender.send(message)


def test_strangers_and_nonsense_are_counted_and_not_believed(job: Job) -> None:
    job.watch()
    job.start("import time\ntime.sleep(600)")
    path = job.folder / "told.sock"
    while not path.exists():
        time.sleep(0.01)
    honest = {"is": "step", "task": "worker:0", "step": 7}
    sent(
        path,
        json.dumps(honest).encode(),  # we are no process of that task
        b"\xff\x00",
        b"[" * 5_000,
        json.dumps({**honest, "step": -1}).encode(),
        json.dumps({**honest, "values": {str(n): 1.0 for n in range(99)}}).encode(),
        b" " * 9_000,
    )
    blind = job.heard(ProbeBlind, lambda fact: fact.probe == "told")
    assert " messages to in-task/told.sock were refused" in blind.why
    assert not any(isinstance(fact, StepsSeen) for fact in job.facts)


def test_a_task_cannot_speak_for_another(job: Job) -> None:
    job.watch()
    job.start(STEPS.format(loss=0.5), HOLDFAST_TASK="worker:1")
    blind = job.heard(ProbeBlind, lambda fact: fact.probe == "told")
    assert "is no process of the task that it names" in blind.why


def test_the_children_of_a_task_speak_for_it(job: Job) -> None:
    job.watch()
    inner = STEPS.format(loss=0.5)
    job.start(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {inner!r}])")
    assert job.heard(StepsSeen, lambda fact: fact.source == "told").task == WORKER


def test_a_path_that_is_too_long_for_a_socket_is_reached(tmp_path: Path) -> None:
    job = Job(tmp_path / ("long" * 20) / ("longer" * 10))
    with contextlib.closing(job):
        job.watch()
        job.start(STEPS.format(loss=0.5))
        assert job.heard(StepsSeen, lambda fact: fact.source == "told")


NOBODY = """
import holdfast, time
began_s = time.perf_counter()
for step in range(20_000):
    holdfast.progress(step, loss=0.5)
print((time.perf_counter() - began_s) / 20_000)
"""


@pytest.mark.parametrize("folder", ["", "relative", "/nowhere", "with-a-file"])
def test_with_nobody_listening_nothing_is_noticed(job: Job, folder: str) -> None:
    (job.folder / "told.sock").write_text("not a socket")
    given = str(job.folder) if folder == "with-a-file" else folder
    done = job.done(NOBODY, HOLDFAST_IN_TASK_DIR=given)
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) < 20e-6


def test_a_reader_that_never_reads_stops_nobody(job: Job) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(job.folder / "told.sock"))
        code = """
from holdfast.in_task.telling import teller
for step in range(2_000):
    teller().step(step, {})
    teller().flush()
print(teller().dropped > 1_000)
"""
        done = job.done(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_descriptor_that_the_program_has_closed_is_not_written_to(job: Job) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.bind(str(job.folder / "told.sock"))
        code = """
import os, socket
from holdfast.in_task.telling import teller
teller().step(1, {})
teller().flush()
os.closerange(3, 100)
ends = [socket.socketpair() for _ in range(8)]
for _ in range(10):
    teller().step(2, {})
    teller().flush()
for end in ends:
    for one in end:
        one.setblocking(False)
        try:
            print(one.recv(100))
        except BlockingIOError:
            pass
"""
        done = job.done(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "values", ["{'loss': 'text'}", "{'loss': object()}", "{'x' * 9_000: 1}", "{'loss': [1, 2]}"]
)
def test_whatever_is_told_raises_nothing(job: Job, values: str) -> None:
    tells = [f"holdfast.progress({step}, **{values})" for step in ("object()", "3")]
    done = job.done("\n".join(["import holdfast", *tells]))
    assert (done.returncode, done.stderr) == (0, "")


def test_outside_of_any_job_it_does_nothing() -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST")}
    code = "import holdfast\nholdfast.progress(3, loss=1.0)\nprint('fine')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


DRAINS = """
import sys
from holdfast.in_task.telling import teller
for number in range(14):
    teller().say({"is": "error", "exception": "E%d" % number, "message": ""})
print("full", flush=True)
teller().drain(30)
"""


def test_what_must_not_be_lost_gets_through_though_the_queue_is_full_and_the_program_ends(
    job: Job,
) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as ear:
        ear.bind(str(job.folder / "told.sock"))
        process = subprocess.Popen(
            [sys.executable, "-c", DRAINS], env=job.env(), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "full\n"
        ear.settimeout(30)
        heard = [json.loads(ear.recv(8_192))["exception"] for _ in range(14)]
        assert process.wait(30) == 0
        process.stdout.close()
    assert heard == [f"E{number}" for number in range(14)]


def test_nobody_waits_for_a_queue_that_nobody_reads_for_longer_than_asked(job: Job) -> None:
    began_s = time.monotonic()
    done = job.done(DRAINS.replace("drain(30)", "drain(0.2)"))
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began_s < 20
