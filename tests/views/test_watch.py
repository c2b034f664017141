"""A run that is followed: what is told, what is taken back, and the newest step."""

import json
import os
import pty
import tty
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.logdir.journal import Journal, open_journal
from holdfast.logdir.run_dir import RunDir, create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptEnded, Fact, TaskStarted
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.views.live import Screen
from holdfast.views.watch import Watch

TASKS = [TaskId("worker", index) for index in range(3)]
SAYS = "worker:1 and worker:2 wait for worker:0 since 6 s: it is in evaluate (train.py:88)"
HERE: Any = {"at_s": 20.0, "host": "a", "task": TASKS[0]}
TOLD = FindingTold(
    cause="keeps-waiting", severity="notice", says=SAYS, waiting=("worker:1", "worker:2"), **HERE
)
OVER = FindingTakenBack(
    cause="keeps-waiting", severity="notice", says=SAYS, why="it goes on", held_s=14.0, **HERE
)
FOUND = {
    "cause": "keeps-waiting",
    "severity": "notice",
    "confidence": "high",
    "says": SAYS,
    "culprit": "worker:0",
    "host": "a",
    "since": None,
    "do": ["wait"],
    "echoes": [],
}
TAKEN_BACK = "taken back after 14 s: keeps-waiting of worker:0: it goes on"


class Run:
    """A run directory that a supervisor writes, and a terminal that shows it."""

    def __init__(self, folder: Path) -> None:
        self.run_dir: RunDir = create_run_dir(folder / "run")
        self.run_dir.write_json("run.json", {})
        self.journal: Journal = open_journal(self.run_dir)
        self.logs = {task: self.run_dir.create_log(task, 1, "out") for task in TASKS}
        for task in TASKS:
            self.run_dir.create_log(task, 1, "err")
        self.findings = folder / "run" / "findings.jsonl"
        self.at_s = 0.0
        self.journal.append(*(TaskStarted(at_s=0.0, host="a", task=task, pid=1) for task in TASKS))

    def tell(self, *facts: Fact, found: list[dict[str, Any]] | None = None) -> None:
        with self.findings.open("a") as lines:
            lines.writelines(json.dumps(one) + "\n" for one in found or [])
        self.journal.append(*facts)

    def seen(self, watch: Watch, screen: Screen, *, width: int = 160) -> None:
        for _ in range(3):
            self.at_s += 1.0
            watch.step(self.at_s, width=width)

    def shown(self, *, joins: bool = False, width: int = 160) -> str:
        """What a terminal has got when this much of the run was followed."""
        master, slave = pty.openpty()
        tty.setraw(slave)
        screen = Screen(slave, width=width, colour=False, is_tty=True)
        watch = Watch(self.run_dir, TASKS, screen, shown=TASKS, is_tty=True, joins=joins)
        self.seen(watch, screen, width=width)
        status = screen._status.decode()
        screen.close(5.0)
        said = os.read(master, 1 << 20).decode()
        os.close(master)
        os.close(slave)
        return said.replace("\r\x1b[K", "\n") + f"\nstatus> {status}"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    made.journal.close()


def status(shown: str) -> str:
    return shown.rpartition("status> ")[2]


def test_a_notice_is_one_line_and_stands_in_the_status_line(run: Run) -> None:
    run.tell(TOLD, found=[FOUND])
    shown = run.shown()
    assert f"notice: {SAYS}\n" in shown
    assert "= fix" not in shown
    assert status(shown).startswith("worker:0 ! keeps-waiting worker:1 … worker:2 … · 00:0")
    assert "notice: worker:1 and worker:2 wait for worker:0 since 8 s" in status(shown)


def test_a_narrow_status_line_keeps_tasks_and_clock(run: Run) -> None:
    run.tell(TOLD, found=[FOUND])
    shown = status(run.shown(width=60))
    assert shown == "worker:0 ! keeps-waiting worker:1 … worker:2 … · 00:03"


def test_what_is_taken_back_is_said_after_what_was_told(run: Run) -> None:
    run.tell(TOLD, OVER, found=[FOUND])
    shown = run.shown()
    assert shown.index(f"notice: {SAYS}") < shown.index(TAKEN_BACK)
    assert status(shown).startswith("worker:0 ● worker:1 ● worker:2 ● · ")


def test_who_joins_hears_only_what_is_still_true(run: Run) -> None:
    other = replace(TOLD, cause="livelock", severity="error")
    livelock = {**FOUND, "cause": "livelock", "severity": "error"}
    run.tell(TOLD, other, OVER, found=[FOUND, {**livelock, "severity": "warning"}, livelock])
    shown = run.shown(joins=True)
    assert "error[livelock]" in shown
    assert "warning[livelock]" not in shown
    assert "taken back" not in shown
    assert f"notice: {SAYS}\n" not in shown


def test_at_the_end_the_report_says_what_was_taken_back(run: Run) -> None:
    ended = AttemptEnded(at_s=21.0, host="a", exit_code=0, why="done")
    run.tell(TOLD, OVER, ended, found=[FOUND])
    assert "taken back" not in run.shown()


def test_the_same_fault_of_several_is_told_once(run: Run) -> None:
    found = [
        {
            **FOUND,
            "cause": "user-exception",
            "severity": "error",
            "culprit": str(task),
            "says": f"{task} raised ValueError at train.py:12",
        }
        for task in TASKS
    ]
    run.tell(TaskStarted(at_s=1.0, host="a", task=TASKS[0], pid=1), found=found)
    shown = run.shown()
    names = "worker:0, worker:1 and worker:2"
    assert f"error[user-exception]: {names} raised ValueError at train.py:12\n" in shown
    assert shown.count("= fix") == 1


def test_the_step_is_the_newest_that_was_printed(run: Run) -> None:
    os.write(run.logs[TASKS[1]], b"".join(b"step %d\n" % step for step in range(300_000)))
    os.write(run.logs[TASKS[2]], b"epoch 1\nstep 12 loss 0.3\n")
    assert status(run.shown()).startswith("worker:0 ● worker:1 ● step 299999 worker:2 ● step 12 ·")
