"""Real faults in real clusters: the cause, the culprit, and who only suffered."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import TaskStarted

pytestmark = pytest.mark.cluster
Run = Callable[..., Any]
PSS = "--chief --ps 1 --workers 2"
WORKLOADS = Path(__file__).parent.parent.parent / "bench" / "workloads"


def test_a_parameter_server_killed_by_its_memory_limit(
    run: Run, small_memory: Callable[[str, int], str]
) -> None:
    wrap = small_memory("ps:0", 700 << 20)
    growing = ("--steps", "5000", "--grow-task", "ps:0", "--grow-mb-per-s", "150")
    ran = run(PSS, "parameter_server", *growing, wrap=(wrap,))
    assert ran.root == ("cgroup-out-of-memory", "ps:0")
    assert ran.report["findings"][0]["family"] == "oom-host"
    assert ran.report["findings"][0]["confidence"] == "certain"
    assert "the memory limit of 700 MiB" in ran.report["findings"][0]["says"]
    assert ran.echoes == {"chief:0", "worker:0", "worker:1"}
    assert len(ran.report["findings"]) == 1
    assert ran.exit_code == 137


def test_the_same_signal_by_hand_is_only_a_kill(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    train = [sys.executable, str(WORKLOADS / "parameter_server.py"), "--steps", "5000"]
    holdfast = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run_dir)]
    with subprocess.Popen(
        [*holdfast, *PSS.split(), "--", *train], stdout=subprocess.PIPE, text=True
    ) as front:
        assert front.stdout is not None
        for line in front.stdout:
            if "step 40" in line:
                os.kill(pid_of(run_dir, "ps:0"), signal.SIGKILL)
                break
        front.stdout.read()
    report = json.loads((run_dir / "report.json").read_text())
    first = report["findings"][0]
    assert (first["cause"], first["culprit"]) == ("killed-by-signal", "ps:0")
    assert {echo["task"] for echo in first["echoes"]} == {"chief:0", "worker:0", "worker:1"}
    assert "memory" not in first["cause"]
    assert front.returncode == 137


def test_an_exception_in_one_mirrored_worker(run: Run) -> None:
    failing = ("--fail-task", "worker:1", "--fail-at", "20", "--fail-how", "exception")
    ran = run("--workers 3", "mirrored", *failing)
    assert ran.root == ("user-exception", "worker:1")
    assert ran.echoes == {"worker:0", "worker:2"}
    assert len(ran.report["findings"]) == 1
    assert ran.exit_code == 1


def test_a_crash_of_the_parameter_server_of_a_session(run: Run) -> None:
    failing = ("--fail-task", "ps:0", "--fail-after-s", "9", "--fail-how", "segfault")
    ran = run("--ps 1 --workers 2", "session", "--steps", "100000", *failing)
    assert ran.root == ("crashed", "ps:0")
    assert ran.echoes == {"worker:0", "worker:1"}
    assert ran.exit_code == 128 + signal.SIGSEGV


def test_a_port_that_somebody_else_holds(run: Run, tmp_path: Path) -> None:
    """The chief would wait for ever: the job ends, and says who holds the port."""
    thief = tmp_path / "thief.sh"
    thief.write_text(
        "#!/bin/sh\n"
        'if [ "$HOLDFAST_TASK" = worker:1 ]; then\n'
        f'  port=$({sys.executable} -c "import json, os;'
        " c = json.loads(os.environ['TF_CONFIG']);"
        " print(c['cluster']['worker'][1].split(':')[1])\")\n"
        f"  {sys.executable} -m http.server $port >/dev/null 2>&1 &\n"
        "fi\n"
        'exec "$@"\n'
    )
    thief.chmod(0o755)
    ran = run(PSS, "parameter_server", wrap=(str(thief),))
    assert ran.root == ("port-conflict", "worker:1")
    first = ran.report["findings"][0]
    assert "python" in first["says"]
    assert "holds it (pid " in first["says"]
    assert ran.exit_code == 75


def test_a_tf_config_that_is_a_printed_dict(run: Run, tmp_path: Path) -> None:
    spoiler = tmp_path / "spoil.sh"
    spoiler.write_text(
        "#!/bin/sh\n"
        '[ "$HOLDFAST_TASK" = worker:1 ] && TF_CONFIG=$(echo "$TF_CONFIG" | tr \'"\' "\'")\n'
        'exec "$@"\n'
    )
    spoiler.chmod(0o755)
    ran = run("--workers 2", "mirrored", wrap=(str(spoiler),))
    assert ran.root == ("spec-unreadable", "worker:1"), "found before TensorFlow died of it"
    assert "str()" in ran.report["findings"][0]["says"]
    assert ran.exit_code == 1


def pid_of(run_dir: Path, task: str) -> int:
    """From the journal of a run that is under way."""
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        try:
            facts = read_journal(open_run_dir(run_dir)).facts
        except HoldfastError:
            continue
        for fact in facts:
            if isinstance(fact, TaskStarted) and str(fact.task) == task:
                return fact.pid
    raise AssertionError(f"{task} did not start")
