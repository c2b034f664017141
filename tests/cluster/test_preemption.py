"""A real cluster with TensorFlow's PreemptionCheckpointHandler: told to go, it saves and leaves."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.facts import Fact, TaskExited, TaskStarted
from holdfast.model.recovery_facts import RemedyDecided

pytestmark = pytest.mark.cluster
TRAIN = """
import sys, time
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
saving = tf.distribute.experimental.PreemptionCheckpointHandler(
    strategy.cluster_resolver, tf.train.Checkpoint(weight=weight), sys.argv[1]
)

@tf.function
def train_step():
    def each():
        weight.assign_add(1.0)
        return weight.read_value()
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(each), axis=None)

while True:
    value = saving.run(train_step)
    print(f"step {int(value)}", flush=True)
    time.sleep(0.1)
"""


@pytest.mark.timeout(120)
def test_a_worker_told_to_go_brings_all_back_and_a_job_told_to_go_has_saved(
    tmp_path: Path,
) -> None:
    run_dir, folder = tmp_path / "run", tmp_path / "ckpt"
    again = run_dir / "logs" / "worker-0.2.out"
    program = tmp_path / "train.py"
    program.write_text(TRAIN)
    options = ["--workers", "2", "--grace-s", "30", "--on-failure", "recover"]
    options += ["--checkpoint-dir", str(folder)]
    holdfast = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run_dir)]
    with subprocess.Popen(
        # Behind `env`: nobody shall load TensorFlow only to read the checkpoint once more.
        [*holdfast, *options, "--", "env", sys.executable, str(program), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        # It asks a cloud whether it runs there; here nobody answers, and at once.
        env={**os.environ, "GCE_METADATA_IP": "127.0.0.1:9"},
    ) as front:
        assert front.stdout is not None
        until_step(front.stdout, 10)
        started = [fact for fact in facts_of(run_dir) if isinstance(fact, TaskStarted)]
        os.kill(next(fact.pid for fact in started if str(fact.task) == "worker:1"), signal.SIGTERM)
        until_says(front.stdout, "attempt 2: all 2 tasks are started again")
        while not (again.exists() and again.read_text()):  # what is shown may be older
            until_step(front.stdout, 1)
        front.send_signal(signal.SIGTERM)
        front.stdout.read()
    facts = facts_of(run_dir)
    decided = [fact for fact in facts if isinstance(fact, RemedyDecided)]
    assert [(fact.remedy, fact.cause) for fact in decided] == [
        ("relaunch", "preempted-by-scheduler")
    ]
    last = (run_dir / "logs" / "worker-0.1.out").read_text().split()[-1]
    first = again.read_text().split()[1]
    assert int(first) == int(last) + 1, "it goes on from what it saved"
    ends = [fact.exit_code for fact in facts if isinstance(fact, TaskExited)]
    assert ends == [42, 42, 42, 42]
    report = json.loads((run_dir / "report.json").read_text())
    assert report["stopped"]["checkpoint"].startswith(str(folder))
    assert report["findings"] == []
    assert front.returncode == 75


def facts_of(run_dir: Path) -> list[Fact]:
    return list(read_journal(open_run_dir(run_dir)).facts)


def until_says(out: IO[str], words: str) -> str:
    seen = []
    for line in out:
        seen.append(line)
        if words in line:
            return line
    raise AssertionError(f"{words!r} is not in {''.join(seen)}")


def until_step(out: IO[str], step: int) -> int:
    """The first step that a task tells from here on, if it is not before this one."""
    while True:
        _, _, told = until_says(out, "step ").rpartition("step ")
        if told.strip().isdigit() and int(told) >= step:
            return int(told)
