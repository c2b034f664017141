"""What a supervisor is given to start with, as JSON and back."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import BadInput
from holdfast.model.plan import Asked, Plan, PlannedTask, plan_again


def encode_plan(plan: Plan) -> bytes:
    """Holds the values of the environment: for a pipe, never for a file."""
    return msgspec.json.encode(
        {
            "run_id": plan.run_id,
            "run_dir": plan.run_dir,
            "grace_s": plan.grace_s,
            "keep_bytes": plan.keep_bytes,
            "start_deadline_s": plan.start_deadline_s,
            "hang_after_s": plan.hang_after_s,
            "watch_start": plan.watch_start,
            "fixed_ports": plan.fixed_ports,
            "on_failure": plan.on_failure,
            "max_relaunches": plan.max_relaunches,
            "checkpoint_dir": plan.checkpoint_dir,
            "dry_run": plan.dry_run,
            "preempt_signal": plan.preempt_signal,
            "launch_for": plan.launch_for,
            "profile_stragglers_s": plan.profile_stragglers_s,
            "asked": {"command": list(plan.asked.command), "env": dict(plan.asked.env)},
            "tasks": [
                {
                    "task": str(planned.task),
                    "address": planned.address,
                    "command": list(planned.command),
                    "env": dict(planned.env),
                }
                for planned in plan.tasks
            ],
        }
    )


def decode_plan(text: bytes) -> Plan:
    try:
        record = msgspec.json.decode(text, type=dict[str, Any])
        tasks = tuple(_planned(item) for item in record["tasks"])
        plan = Plan(
            run_id=record["run_id"],
            run_dir=record["run_dir"],
            cluster=ClusterSpec({planned.task: planned.address for planned in tasks}),
            tasks=tasks,
            grace_s=float(record["grace_s"]),
            keep_bytes=record["keep_bytes"],
            start_deadline_s=float(record["start_deadline_s"]),
            hang_after_s=float(record.get("hang_after_s", 0.0)),
            watch_start=bool(record["watch_start"]),
            fixed_ports=bool(record["fixed_ports"]),
            on_failure=str(record["on_failure"]),
            max_relaunches=int(record["max_relaunches"]),
            checkpoint_dir=str(record["checkpoint_dir"]),
            dry_run=bool(record["dry_run"]),
            preempt_signal=str(record.get("preempt_signal", "SIGTERM")),
            launch_for=str(record.get("launch_for", "")),
            profile_stragglers_s=float(record.get("profile_stragglers_s", 0.0)),
            asked=_asked(record["asked"]),
        )
        return _at_attempt(plan, record)
    except (msgspec.MsgspecError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a plan: {error!r}", do="start jobs with `holdfast run`") from error


def _at_attempt(plan: Plan, record: dict[str, Any]) -> Plan:
    """As the holder gives it after a relaunch: with where everybody listens by now."""
    attempt = int(record.get("attempt", 1))
    moved = record.get("addresses", {}).items()
    addresses = {TaskId.parse(name): str(address) for name, address in moved}
    return plan_again(plan, attempt=attempt, addresses=addresses) if attempt > 1 else plan


def plan_left(about: object, tasks: Sequence[str], *, run_dir: str) -> Plan:
    """What run.json still says of a plan: who and where, but no command and no environment.

    Enough to go on looking at what was started; nothing can be started from it.
    """
    try:
        record = msgspec.convert(about, dict[str, Any])
        job, cluster = record["job"], record["cluster"]
        planned = tuple(
            PlannedTask(
                task=TaskId.parse(name), address=str(cluster.get(name, "")), command=("",), env={}
            )
            for name in tasks
        )
        return Plan(
            run_id=str(record["run_id"]),
            run_dir=run_dir,
            cluster=ClusterSpec({one.task: one.address for one in planned}),
            tasks=planned,
            grace_s=float(job["grace_s"]),
            keep_bytes=job["keep_bytes"],
            start_deadline_s=float(job["start_deadline_s"]),
            hang_after_s=float(job.get("hang_after_s", 0.0)),
            watch_start=False,
            preempt_signal=str(job.get("preempt_signal", "SIGTERM")),
        )
    except (msgspec.MsgspecError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"run.json does not describe a run: {error!r}") from error


def _asked(item: dict[str, Any]) -> Asked:
    return Asked(
        command=tuple(map(str, item["command"])),
        env={str(name): str(value) for name, value in item["env"].items()},
    )


def _planned(item: dict[str, Any]) -> PlannedTask:
    return PlannedTask(
        task=TaskId.parse(item["task"]),
        address=str(item["address"]),
        command=tuple(map(str, item["command"])),
        env={str(name): str(value) for name, value in item["env"].items()},
    )
