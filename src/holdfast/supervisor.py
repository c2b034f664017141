"""The supervisor's own process: agent and coordinator of a job on one machine. Not for people."""

import os
import signal
import socket
import sys
import time
from functools import partial
from pathlib import Path

import click

from holdfast import __version__
from holdfast.agent.clock import Clock
from holdfast.agent.tasks import Agent
from holdfast.coordinator.loop import Loop
from holdfast.logdir.journal import open_journal
from holdfast.logdir.run_dir import RunDir, log_name, open_run_dir
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted
from holdfast.model.findings import Finding
from holdfast.model.plan import Plan
from holdfast.model.submission import decode_plan
from holdfast.recover.life import Life
from holdfast.views.report import finding_line, report
from holdfast.wire.door import Door


@click.command(hidden=True)
def command() -> None:
    """Supervise the job whose plan comes on standard input. `holdfast run` starts this."""
    # The terminal's signals are the front's to translate; a hang-up is not the job's end.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    plan = decode_plan(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    supervise(plan, open_run_dir(Path(plan.run_dir)))


def supervise(plan: Plan, run_dir: RunDir) -> None:
    clock = Clock(time.monotonic())
    host = socket.gethostname()
    started = AttemptStarted(
        at_s=0.0,
        host=host,
        began_unix_s=time.time(),
        tasks=tuple(str(planned.task) for planned in plan.tasks),
        holdfast=__version__,
    )
    with open_journal(run_dir) as journal:
        journal.append(started)
        agent = Agent(plan, run_dir, clock, host)
        door = Door(run_dir.fd, lambda: {"at_s": clock.at_s(), "host": host})
        life = Life(tasks=tuple(planned.task for planned in plan.tasks), grace_s=plan.grace_s)
        loop = Loop(life, journal, (agent, door), now=clock.at_s, tell=partial(_write, run_dir))
        loop.facts.append(started)
        loop.run(agent.start(), host)
        for batch in agent.close(plan.grace_s):
            loop.take(batch)
        _conclude(loop, run_dir, clock, host)
        door.close()


def _write(run_dir: RunDir, finding: Finding, evidence: Evidence) -> None:
    line = finding_line(finding, evidence, log_name=log_name)
    run_dir.append_line("findings.jsonl", line)


def _conclude(loop: Loop, run_dir: RunDir, clock: Clock, host: str) -> None:
    """The report first, the journal's last fact after it: who sees that sees all."""
    diagnosis, ended = loop.judge(clock.at_s(), host)
    evidence = Evidence(loop.facts)
    run_dir.write_json("report.json", report(diagnosis, evidence, log_name=log_name))
    loop.take([ended])
