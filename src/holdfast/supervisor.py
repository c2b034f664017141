"""The process that holds a job: agent and coordinator on one machine, started by the front.

It is no command, and imports no more than it needs: it lives as long as the training.
"""

import contextlib
import json
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from holdfast import __version__
from holdfast.agent.clock import Clock
from holdfast.agent.hold import boot_id, keep_to_ourselves
from holdfast.agent.holding import Holding, reach_holder, start_holder
from holdfast.agent.past import past_of
from holdfast.agent.tasks import Agent
from holdfast.coordinator.loop import Loop, complain
from holdfast.logdir.journal import Journal, open_journal, read_journal
from holdfast.logdir.run_dir import RunDir, log_name, open_run_dir
from holdfast.model.errors import MissingInput, NotOurs, StorageFailed
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded, AttemptStarted, Fact
from holdfast.model.findings import Finding
from holdfast.model.plan import Plan
from holdfast.model.submission import decode_plan, plan_left
from holdfast.model.watch_facts import TakenOver
from holdfast.recover.life import Life
from holdfast.recover.resuming import replayed
from holdfast.views.report import finding_line, report
from holdfast.wire.door import Door, Request

RESUME = "--resume"
STREAMS_LAST = 2  # standard input, output and error


def main() -> None:
    """Supervise the job whose plan comes on standard input, or one that its supervisor left."""
    # The terminal's signals are the front's to translate; a hang-up is not the job's end.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    claims = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > STREAMS_LAST]  # noqa: PTH208
    keep_to_ourselves()
    if sys.argv[1] == RESUME:
        return take_over(open_run_dir(Path(sys.argv[2])))
    order = sys.stdin.buffer.read()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return supervise(order, files_max=int(sys.argv[1]), claims=[*_that_are_open(claims)])


def _that_are_open(fds: Iterable[int]) -> Iterator[int]:
    """Without the one by which they were listed."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.fstat(fd)
            yield fd


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a supervisor holds: new, or left by another with all that it saw."""

    plan: Plan
    run_dir: RunDir
    journal: Journal
    holding: Holding
    clock: Clock
    host: str


def supervise(order: bytes, *, files_max: int, claims: Sequence[int]) -> None:
    plan = decode_plan(order)
    run_dir = open_run_dir(Path(plan.run_dir))
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
        holding = start_holder(
            order, run_dir.fd, zero_s=clock.zero_s, files_max=files_max, claims=claims
        )
        _go_on(Attempt(plan, run_dir, journal, holding, clock, host), [started], ())


def take_over(run_dir: RunDir) -> None:
    """Go on where a supervisor was killed. Nothing is started twice, nothing told twice."""
    try:
        journal = open_journal(run_dir)
    except NotOurs as error:  # somebody was faster: whoever started us watches that one
        sys.exit(error.exit_code)
    with journal:
        facts = read_journal(run_dir).facts
        if any(isinstance(fact, AttemptEnded) for fact in facts):
            return
        holding = reach_holder(run_dir.fd)
        order = holding.plan()
        plan = _plan(order, facts, run_dir)
        clock = Clock(_zero_s(holding, facts))
        host = socket.gethostname()
        with contextlib.suppress(OSError):
            os.chdir(f"/proc/{holding.pid}/cwd")  # where the job works
        about = holding.about
        left_s = about.left - clock.zero_s if about and about.left else 0.0
        taken = TakenOver(
            at_s=clock.at_s(),
            host=host,
            gone_s=round(max(left_s, *(fact.at_s for fact in facts)), 6),
            pid=about.supervisor if about else 0,
        )
        _go_on(Attempt(plan, run_dir, journal, holding, clock, host), facts, (taken,))


def _plan(order: bytes | None, facts: Sequence[Fact], run_dir: RunDir) -> Plan:
    """As it was given; where the holder is gone, what is known of it without the values."""
    if order is not None:
        return replace(decode_plan(order), run_dir=str(run_dir.path))
    started = next(fact for fact in facts if isinstance(fact, AttemptStarted))
    return plan_left(run_dir.read_json("run.json"), started.tasks, run_dir=str(run_dir.path))


def _zero_s(holding: Holding, facts: Sequence[Fact]) -> float:
    """The same zero as before; after a start of the machine, by the wall clock."""
    if holding.about and holding.about.boot == boot_id():
        return holding.about.zero_s
    started = next(fact for fact in facts if isinstance(fact, AttemptStarted))
    return time.monotonic() - (time.time() - started.began_unix_s)


def _go_on(held: Attempt, facts: Sequence[Fact], first: tuple[Fact, ...]) -> None:
    """To the normal end. `facts` are in the journal already, `first` are not."""
    plan, run_dir, clock = held.plan, held.run_dir, held.clock
    life = replayed(
        Life(
            tasks=tuple(planned.task for planned in plan.tasks),
            grace_s=plan.grace_s,
            start_deadline_s=plan.start_deadline_s or math.inf,
        ),
        facts,
    )
    up = all(planned.task in life.start.ready for planned in plan.tasks if planned.address)
    agent = Agent(
        replace(plan, watch_start=plan.watch_start and not up),
        run_dir,
        clock,
        held.host,
        holding=held.holding,
        past=past_of(facts),
    )
    door = Door(run_dir.fd, lambda: {"at_s": clock.at_s(), "host": held.host})
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, partial(_knock, door))
    loop = Loop(life, held.journal, (agent, door), now=clock.at_s, tell=partial(_write, run_dir))
    loop.recall(facts, _told(run_dir))
    loop.run(chain([list(first)], agent.start()), held.host)
    for batch in agent.close(plan.grace_s):
        loop.take(batch)
    door.close()
    _conclude(loop, run_dir, clock, held.host)


def _told(run_dir: RunDir) -> Iterator[tuple[str, str]]:
    """The findings that were told before us."""
    with contextlib.suppress(MissingInput, ValueError):
        for line in run_dir.read_lines("findings.jsonl"):
            finding = json.loads(line)
            yield finding["cause"], str(finding["culprit"])


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
        shown = report(diagnosis, evidence, log_name=log_name)
        run_dir.write_json("report.json", shown)
        _write_page(run_dir, shown)
        loop.take([ended])
    except StorageFailed as error:
        complain(error.message)
        loop.unsaved.append(ended)
    if loop.unsaved:
        sys.exit(StorageFailed.exit_code)


def _write_page(run_dir: RunDir, shown: dict[str, Any]) -> None:
    """The report once more, for a browser: nothing that goes wrong here may hurt the run."""
    try:
        from holdfast.views.html import report_html  # noqa: PLC0415 - only at the end of a run

        run_dir.write_bytes("report.html", report_html(shown).encode())
    except Exception as error:  # noqa: BLE001 - report.json holds all that it would show
        complain(f"report.html could not be written: {error!r}")


if __name__ == "__main__":
    main()
