"""A scheduler takes the host: the tasks are asked to save, and the exit code says if they did."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.facts import AttemptStarted, SignalSent
from holdfast.model.recovery_facts import CheckpointSaved, RemedyDecided

pytestmark = pytest.mark.timeout(90)
Start = Any

# Saves and leaves when it is asked, as a PreemptionCheckpointHandler does: all of a job agree.
TRAIN = """
import os, pathlib, signal, sys, time
folder, saves, code = pathlib.Path(sys.argv[1]), sys.argv[2] == "saves", int(sys.argv[3])
told = pathlib.Path("told-" + os.environ["HOLDFAST_ATTEMPT"])
def got(number, _):
    print("got", signal.Signals(number).name, flush=True)
    told.touch()
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, got)
print("ready", flush=True)
while not told.exists():
    if os.environ["HOLDFAST_ATTEMPT"] == "2":
        sys.exit(0)
    time.sleep(0.02)
if saves and os.environ["HOLDFAST_TASK"] == "worker:0":
    (folder / "model.ckpt-7.data-00000-of-00001").write_bytes(b"weights")
    (folder / "model.ckpt-7.meta").write_bytes(b"graph")
    footer = bytes.fromhex("57fb808b247547db")
    (folder / "model.ckpt-7.index").write_bytes(bytes(64) + footer)
sys.exit(code)
"""


# What its text says of it.
OBEYS = "# tf.distribute.experimental.PreemptionCheckpointHandler\n" + TRAIN


def training(
    start: Start, *options: str, saves: bool = True, code: int = 42, text: str = TRAIN
) -> Any:
    folder = start.place / "ckpt"
    folder.mkdir()
    program = start.script("train.py", text)
    # Behind `env`: nobody shall read with TensorFlow what only looks like a checkpoint.
    how = ("saves" if saves else "forgets", str(code))
    words = ("env", sys.executable, program, str(folder), *how)
    job = start("--workers", "2", "--checkpoint-dir", "ckpt", *options, "--", *words)
    for task in ("worker:0", "worker:1"):
        job.until_says(task, b"ready")
    return job


@pytest.mark.parametrize("code", [0, 42, 75, 143])
def test_a_job_that_saves_when_it_is_asked_may_be_tried_again(start: Start, code: int) -> None:
    job = training(start, code=code)
    job.front.send_signal(signal.SIGTERM)
    assert job.wait() == 75
    assert (job.report["verdict"], job.report["findings"]) == ("healthy", [])
    stopped = job.report["stopped"]
    assert Path(stopped["checkpoint"]).name == "model.ckpt-7"
    assert (stopped["by"], stopped["step"]) == ("SIGTERM", 7)
    assert "s after the end was asked for, at step 7" in stopped["says"]
    assert "model.ckpt-7 was written" in job.out
    job.nothing_is_left()


def test_a_job_that_did_not_save_is_only_ended(start: Start) -> None:
    """A checkpoint from before the request is no answer to it."""
    job = training(start, saves=False)
    older = start.place / "ckpt" / "old.weights.h5"
    older.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(120))
    os.utime(older, (1.0, 1.0))
    job.front.send_signal(signal.SIGTERM)
    assert job.wait() == 143
    (saved,) = job.facts(CheckpointSaved)
    assert saved.path == ""
    assert job.report["stopped"]["checkpoint"] is None
    assert "no checkpoint was written after the end was asked for" in job.out
    job.nothing_is_left()


def test_a_program_is_asked_in_its_own_language(start: Start, holdfast: Any) -> None:
    job = training(start, "--preempt-signal", "SIGUSR1")
    assert holdfast("stop", str(job.run_dir)).returncode == 0
    assert job.wait() == 75
    assert {fact.signal for fact in job.facts(SignalSent)} == {signal.SIGUSR1}
    assert b"SIGTERM" not in job.log("worker:0") + job.log("worker:1")
    assert job.about["job"]["preempt_signal"] == "SIGUSR1"
    job.nothing_is_left()


def test_one_task_that_is_told_to_go_from_outside_brings_all_back(start: Start) -> None:
    job = training(start, "--on-failure", "recover", text=OBEYS)
    os.kill(job.pid_of("worker:1"), signal.SIGTERM)
    assert job.wait() == 0
    (decided,) = job.facts(RemedyDecided)
    assert (decided.remedy, decided.cause) == ("relaunch", "preempted-by-scheduler")
    assert [fact.attempt for fact in job.facts(AttemptStarted)] == [1, 2]
    assert "begins from" in job.out
    job.nothing_is_left()


def test_without_recovery_it_is_told_and_may_be_tried_again(start: Start) -> None:
    job = training(start, text=OBEYS)
    os.kill(job.pid_of("worker:1"), signal.SIGTERM)
    assert job.wait() == 75
    first = job.report["findings"][0]
    assert (first["cause"], first["culprit"]) == ("preempted-by-scheduler", "worker:1")
    assert [echo["task"] for echo in first["echoes"]] == ["worker:0"]
    assert job.report["last_words"] == {}


def test_a_signal_that_nobody_can_catch_is_refused(start: Start, holdfast: Any) -> None:
    refused = holdfast("run", "--preempt-signal", "SIGKILL", "--", "true")
    assert (refused.returncode, "'SIGKILL' is not one of" in refused.stderr) == (2, True)
    (start.place / "job.toml").write_text('command = ["true"]\npreempt_signal = "SIGKILL"\n')
    refused = holdfast("run", str(start.place / "job.toml"))
    assert (refused.returncode, "'SIGKILL' is no signal" in refused.stderr) == (78, True)
