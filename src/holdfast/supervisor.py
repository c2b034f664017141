"""The process that holds a job: agent and coordinator on one machine, started by the front.

It is no command, and imports no more than it needs: it lives as long as the training.
"""

import contextlib
import math
import os
import signal
import socket
import sys
import time
from functools import partial
from pathlib import Path
from typing import Literal

from holdfast import __version__
from holdfast.agent.clock import Clock
from holdfast.agent.tasks import Agent
from holdfast.coordinator.loop import Loop, complain
from holdfast.logdir.journal import open_journal
from holdfast.logdir.run_dir import RunDir, log_name, open_run_dir
from holdfast.model.errors import StorageFailed
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted
from holdfast.model.findings import Finding
from holdfast.model.plan import Plan
from holdfast.model.submission import decode_plan
from holdfast.recover.life import Life
from holdfast.views.report import finding_line, report
from holdfast.wire.door import Door, Request


def main() -> None:
    """Supervise the job whose plan comes on standard input."""
    # The terminal's signals are the front's to translate; a hang-up is not the job's end.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _keep_to_ourselves()
    plan = decode_plan(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    supervise(plan, open_run_dir(Path(plan.run_dir)), files_max=int(sys.argv[1]))


def _keep_to_ourselves() -> None:
    """The claims on the ports are ours: given to every task, they would eat up its limit."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as probes.process
        with contextlib.suppress(OSError):  # the one that listed them
            os.set_inheritable(int(name), False)  # noqa: FBT003 - its only way


def supervise(plan: Plan, run_dir: RunDir, *, files_max: int) -> None:
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
        agent = Agent(plan, run_dir, clock, host, files_max=files_max)
        door = Door(run_dir.fd, lambda: {"at_s": clock.at_s(), "host": host})
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, partial(_knock, door))
        life = Life(
            tasks=tuple(planned.task for planned in plan.tasks),
            grace_s=plan.grace_s,
            start_deadline_s=plan.start_deadline_s or math.inf,
        )
        loop = Loop(life, journal, (agent, door), now=clock.at_s, tell=partial(_write, run_dir))
        loop.facts.append(started)
        loop.run(agent.start(), host)
        for batch in agent.close(plan.grace_s):
            loop.take(batch)
        door.close()
        _conclude(loop, run_dir, clock, host)


def _knock(door: Door, number: int, _: object) -> None:
    """Whoever signals us means the job: died of it, we would leave the tasks to themselves."""
    by = f"{signal.Signals(number).name} to the supervisor"
    ask: Literal["stop", "signal"] = "stop" if number == signal.SIGTERM else "signal"
    door.knock(Request(ask=ask, signal=number, by=by))


def _write(run_dir: RunDir, finding: Finding, evidence: Evidence) -> None:
    line = finding_line(finding, evidence, log_name=log_name)
    with contextlib.suppress(StorageFailed):  # told again at the end, in the report
        run_dir.append_line("findings.jsonl", line)


def _conclude(loop: Loop, run_dir: RunDir, clock: Clock, host: str) -> None:
    """The report first, the journal's last fact after it: who sees that sees all."""
    diagnosis, ended = loop.judge(clock.at_s(), host)
    evidence = Evidence(loop.facts)
    try:
        run_dir.write_json("report.json", report(diagnosis, evidence, log_name=log_name))
        loop.take([ended])
    except StorageFailed as error:
        complain(error.message)
        loop.unsaved.append(ended)
    if loop.unsaved:
        sys.exit(StorageFailed.exit_code)


if __name__ == "__main__":
    main()
