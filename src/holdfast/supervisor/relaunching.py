"""A new attempt of the whole job: nobody of the last one lives, and its checkpoint is chosen."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.agent.clock import Clock
from holdfast.agent.leftovers import below
from holdfast.coordinator.beginning import choose_checkpoint, prepare
from holdfast.coordinator.loop import Loop
from holdfast.coordinator.remedies import Remedies
from holdfast.launch.local import free_addresses
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import AttemptStarted
from holdfast.model.plan import plan_again
from holdfast.recover.checkpoints import Choice
from holdfast.recover.decision import Ask, Decision, RelaunchAll
from holdfast.recover.trouble import trouble_of
from holdfast.supervisor.held import Held, begun_now
from holdfast.wire.door import Door

if TYPE_CHECKING:
    from concurrent.futures import Future


def next_attempt(
    held: Held, decision: Decision, loop: Loop, remedies: Remedies, door: Door
) -> AttemptStarted | None:
    """Its first fact; None: somebody said no or asked for the end, or it cannot be done."""
    with _choosing(held, loop) as chosen:
        ready = remedies.wait(decision, loop, door, ready=chosen.done)
    why_not = _why_not(held) if ready else ""
    if not ready or why_not:
        remedies.give_up(decision, loop, why_not)
        return None
    try:
        _point_out(held, loop, chosen.result())
        moved = _moved(held, decision)
        plan = plan_again(held.plan, attempt=held.plan.attempt + 1, addresses=moved)
        begun = begun_now(plan, held.host)
        clock = Clock(time.monotonic())
        held.journal.append(begun)
    except (HoldfastError, OSError) as error:
        remedies.give_up(decision, loop, str(error))
        return None
    held.plan, held.clock = plan, clock
    held.tell_holder()
    return begun


@contextmanager
def _choosing(held: Held, loop: Loop) -> "Iterator[Future[Choice | None]]":
    """Which checkpoint comes next is looked up while we wait and listen: it may take a minute."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - memory that a run in peace need not hold

    reached = trouble_of(loop.facts).step
    with ThreadPoolExecutor(1) as looker:
        yield looker.submit(_choice, held, reached)


def _choice(held: Held, reached_step: int) -> Choice | None:
    folder, command = held.plan.checkpoint_dir, held.plan.tasks[0].command
    return choose_checkpoint(folder, command, reached_step=reached_step) if folder else None


def _why_not(held: Held) -> str:
    """Two who write the same checkpoints are worse than none."""
    if held.holding.pid is None:
        return "the holder of the tasks is gone"
    left = below(held.holding.pid)
    return f"process {left[0].pid} of the last attempt does not end" if left else ""


def _point_out(held: Held, loop: Loop, choice: Choice | None) -> None:
    """What the program will find, in the journal and in the folder of its checkpoints."""
    if choice is not None:
        loop.take([choice.to_fact(**held.where(), attempt=held.plan.attempt)])
    prepare(held.run_dir.path, held.plan.attempt + 1, choice)


def _moved(held: Held, decision: Decision) -> dict[TaskId, str]:
    """Other ports, where theirs are taken by a stranger and the job does not insist on them."""
    does = decision.action.would if isinstance(decision.action, Ask) else decision.action
    if held.plan.fixed_ports or not (isinstance(does, RelaunchAll) and does.fresh_ports):
        return {}
    fresh = free_addresses(held.plan.cluster.addresses)
    for claim in held.claims:
        claim.close()
    held.claims = fresh.claims
    about = held.run_dir.read_json("run.json")
    if isinstance(about, dict):
        cluster = {str(task): where for task, where in fresh.cluster.addresses.items()}
        held.run_dir.write_json("run.json", {**about, "cluster": cluster})
    return dict(fresh.cluster.addresses)
