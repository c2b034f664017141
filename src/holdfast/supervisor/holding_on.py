"""A job from its first attempt to its end, whoever of us dies meanwhile."""

import contextlib
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from holdfast.agent.clock import Clock
from holdfast.agent.hold import boot_id
from holdfast.agent.holding import Holding, reach_holder, start_holder
from holdfast.agent.past import past_of
from holdfast.agent.tasks import Agent
from holdfast.coordinator.beginning import prepare
from holdfast.coordinator.loop import Loop, complain
from holdfast.coordinator.remedies import Remedies, carried
from holdfast.logdir.journal import open_journal, read_journal
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model.errors import HoldfastError, NotOurs
from holdfast.model.facts import AttemptEnded, AttemptStarted, Fact
from holdfast.model.plan import Plan, plan_again
from holdfast.model.signals import signal_number
from holdfast.model.submission import decode_plan, plan_left
from holdfast.model.watch_facts import TakenOver
from holdfast.recover.life import Life
from holdfast.recover.policy import OnFailure, Policy
from holdfast.recover.resuming import replayed
from holdfast.supervisor.concluding import conclude_run, write_finding
from holdfast.supervisor.held import Held, begun_now, newest_attempt
from holdfast.supervisor.relaunching import next_attempt
from holdfast.supervisor.saving import look_for_saved
from holdfast.supervisor.straggler_traces import StragglerTraces
from holdfast.wire.door import Door, Request


def supervise(order: bytes, *, files_max: int, claims: Sequence[int]) -> None:
    plan = decode_plan(order)
    run_dir = open_run_dir(Path(plan.run_dir))
    clock = Clock(time.monotonic())
    with open_journal(run_dir) as journal:
        host = socket.gethostname()
        begun = begun_now(plan, host)
        journal.append(begun)
        holding = start_holder(
            order, run_dir.fd, zero_s=clock.zero_s, files_max=files_max, claims=claims
        )
        held = Held(plan, run_dir, journal, holding, clock, host)
        _hold_fence(held)
        _go_on(held, [begun], held.words_of_program())


def _hold_fence(held: Held) -> None:
    """Who writes for this attempt is waited for, and shut out once the next one begins."""
    try:
        prepare(held.run_dir.path, held.plan.attempt, None)
    except (HoldfastError, OSError) as error:
        complain(f"nobody keeps an old attempt from writing: {error}")


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
        begun = newest_attempt(facts)
        holding = reach_holder(run_dir.fd, attempt=begun.attempt)
        plan = _plan(holding.plan(), begun, run_dir)
        clock = Clock(_zero_s(holding, begun))
        held = Held(plan, run_dir, journal, holding, clock, socket.gethostname())
        with contextlib.suppress(OSError):
            os.chdir(f"/proc/{holding.pid}/cwd")  # where the job works
        about = holding.about
        left_s = about.left - clock.zero_s if about and about.left else 0.0
        seen = (fact.at_s for fact in facts if fact.attempt == begun.attempt)
        taken = TakenOver(
            gone_s=round(max(left_s, *seen), 6),
            pid=about.supervisor if about else 0,
            **held.where(),
        )
        if about and about.attempt < begun.attempt:
            held.tell_holder()  # the one before us died just before it did
        _go_on(held, facts, (taken,))


def _plan(order: bytes | None, begun: AttemptStarted, run_dir: RunDir) -> Plan:
    """As it was given; where the holder is gone, what is known of it without the values."""
    if order is None:
        about = run_dir.read_json("run.json")
        return replace(
            plan_left(about, begun.tasks, run_dir=str(run_dir.path)), attempt=begun.attempt
        )
    plan = replace(decode_plan(order), run_dir=str(run_dir.path))
    return plan_again(plan, attempt=begun.attempt, addresses=plan.cluster.addresses)


def _zero_s(holding: Holding, begun: AttemptStarted) -> float:
    """The same zero as before; after a start of the machine, by the wall clock."""
    about = holding.about
    if about and about.boot == boot_id() and about.attempt == begun.attempt:
        return about.zero_s
    return time.monotonic() - (time.time() - begun.began_unix_s)


def _go_on(held: Held, facts: Sequence[Fact], first: tuple[Fact, ...]) -> None:
    """To the end of the job, over as many attempts as it takes.

    `facts` are in the journal already, `first` are not.
    """
    door = Door(held.run_dir.fd, held.where)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, partial(_knock, door))
    while True:
        remedies = _remedies(held, facts)
        loop = _attempt(held, facts, first, door, remedies)
        verdict = loop.judge(held.host)
        decision = None
        if verdict.conclusion.exit_code and held.plan.on_failure != OnFailure.STOP:
            decision = remedies.at_the_end(loop)
        if decision is None or not remedies.is_to_be_done(decision):
            break
        begun = next_attempt(held, decision, loop, remedies, door)
        if begun is None:
            decision = remedies.at_the_end(loop)
            break
        before = [fact for fact in facts if fact.attempt < begun.attempt - 1]
        facts, first = [*carried([*before, *loop.facts]), begun], held.words_of_program()
    held.holding.end()
    door.close()
    conclude_run(held, loop, verdict, decision)


def _remedies(held: Held, facts: Sequence[Fact]) -> Remedies:
    plan = held.plan
    return Remedies(
        Policy(on_failure=OnFailure(plan.on_failure), relaunches_max=plan.max_relaunches),
        dry_run=plan.dry_run,
        host=held.host,
        now=held.clock.at_s,
        earlier=[fact for fact in facts if fact.attempt < plan.attempt],
    )


def _attempt(
    held: Held, facts: Sequence[Fact], first: tuple[Fact, ...], door: Door, remedies: Remedies
) -> Loop:
    """One attempt, until all its tasks have ended and all that they wrote is read."""
    plan, clock = held.plan, held.clock
    facts = [fact for fact in facts if fact.attempt == plan.attempt]
    life = replayed(
        Life(
            tasks=tuple(planned.task for planned in plan.tasks),
            grace_s=plan.grace_s,
            start_deadline_s=plan.start_deadline_s or math.inf,
            preempt_signal=signal_number(plan.preempt_signal),
        ),
        facts,
    )
    up = all(planned.task in life.start.ready for planned in plan.tasks if planned.address)
    agent = Agent(
        replace(plan, watch_start=plan.watch_start and not up),
        held.run_dir,
        clock,
        held.host,
        holding=held.holding,
        past=past_of(facts),
    )
    seconds = plan.profile_stragglers_s
    traces = StragglerTraces(held.run_dir, seconds=seconds, where=held.where)
    loop = Loop(
        life,
        held.journal,
        (agent, door, traces),
        now=clock.at_s,
        tell=traces.hearing(partial(write_finding, held.run_dir)),
        attempt=plan.attempt,
        remedy=remedies.while_it_runs,
    )
    traces.facts = lambda: loop.facts
    loop.recall(facts)
    loop.run(chain([list(first)], agent.start()), held.host)
    for batch in agent.close(plan.grace_s):
        loop.take(batch)
    loop.take(look_for_saved(held, loop.facts))
    return loop


def _knock(door: Door, number: int, _: object) -> None:
    """Whoever signals us means the job: died of it, we would leave the tasks to themselves."""
    by = f"{signal.Signals(number).name} to the supervisor"
    ask: Literal["stop", "signal"] = "stop" if number == signal.SIGTERM else "signal"
    door.knock(Request(ask=ask, signal=number, by=by))
