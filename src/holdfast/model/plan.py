"""Exactly what a back end will start, as values that can be shown before anything happens."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.foreign import MEETING_PLACE, NAMES, moved, variables
from holdfast.model.job import Job
from holdfast.model.placeholders import fill, fill_command, place_of

# What a task of another attempt may have otherwise.
OF_THE_ATTEMPT = ("TF_CONFIG", "HOLDFAST_ATTEMPT", *MEETING_PLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """One process: what is executed, and what is added to the environment it inherits."""

    task: TaskId
    address: str
    command: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user wrote for all tasks, with placeholders for what each has otherwise."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    run_id: str
    run_dir: str
    cluster: ClusterSpec
    tasks: tuple[PlannedTask, ...]
    grace_s: float
    keep_bytes: int | None = None
    start_deadline_s: float = 0.0  # 0: a start-up may take for ever
    hang_after_s: float = 0.0  # a standstill of so long is an error; 0: by its own pauses
    watch_start: bool = True
    attempt: int = 1
    fixed_ports: bool = False  # the job says where its tasks listen: no other port will do
    on_failure: str = "stop"
    max_relaunches: int = 0
    checkpoint_dir: str = ""
    dry_run: bool = False
    preempt_signal: str = "SIGTERM"
    launch_for: str = ""
    profile_stragglers_s: float = 0.0
    asked: Asked = field(default_factory=Asked)

    def of_attempt(self, planned: PlannedTask) -> tuple[tuple[str, ...], dict[str, str]]:
        """A task's command, if it may differ from the first attempt's, and variables that may."""
        same = self.attempt == 1 or planned.command == self.asked.command
        names = (*OF_THE_ATTEMPT, *self.asked.env)
        env = {name: planned.env[name] for name in names if name in planned.env}
        return (() if same else planned.command), env

    def text(self) -> str:
        """For a person who wants to know before it happens. Values from --env stay unsaid."""
        ours = _OURS | (NAMES if self.launch_for else set())
        lines = [f"run directory {self.run_dir}"]
        for planned in self.tasks:
            shown = {
                name: value if name in ours or name.startswith("HOLDFAST_") else "…"
                for name, value in planned.env.items()
            }
            lines.append(f"{planned.task} at {planned.address or 'no address'}")
            lines += [f"  {name}={shlex.quote(value)}" for name, value in shown.items()]
            lines.append(f"  {shlex.join(planned.command)}")
        return "\n".join(lines)


_OURS = frozenset({"TF_CONFIG", "PYTHONUNBUFFERED"})
# What a user sets does not win over these.
_SET_LAST = ("HOLDFAST_RUN_ID", "HOLDFAST_RUN_DIR", "HOLDFAST_TASK", "HOLDFAST_ATTEMPT")


def plan_tasks(job: Job, cluster: ClusterSpec, *, run_id: str, run_dir: str) -> Plan:
    """The same job and addresses give the same plan, on any machine."""
    asked = Asked(
        command=job.command,
        env={
            name: value for name, value in job.env.items() if "{" in value and name not in _SET_LAST
        },
    )
    return Plan(
        run_id=run_id,
        run_dir=run_dir,
        cluster=cluster,
        tasks=tuple(
            PlannedTask(
                task=task,
                address=cluster.addresses.get(task, ""),
                command=fill_command(job.command, place_of(task, cluster)),
                env={
                    # Python would keep a task's last words in its own buffer and lose them.
                    "PYTHONUNBUFFERED": "1",
                    **({"HOLDFAST_GUARD_HDF5": "1"} if job.guard_hdf5 else {}),
                    **variables(job.launch_for, cluster, task),
                    **job.env,
                    **_filled(asked, task, cluster),
                    "TF_CONFIG": cluster.tf_config(task),
                    "HOLDFAST_RUN_ID": run_id,
                    "HOLDFAST_RUN_DIR": run_dir,
                    "HOLDFAST_TASK": str(task),
                    "HOLDFAST_ATTEMPT": "1",
                },
            )
            for task in job.tasks
        ),
        grace_s=job.grace_s,
        keep_bytes=job.keep_bytes,
        start_deadline_s=job.start_deadline_s,
        hang_after_s=job.hang_after_s,
        fixed_ports=bool(job.addresses),
        on_failure=job.on_failure,
        max_relaunches=job.max_relaunches,
        checkpoint_dir=job.checkpoint_dir or "",
        dry_run=job.dry_run,
        preempt_signal=job.preempt_signal,
        launch_for=job.launch_for,
        profile_stragglers_s=job.profile_stragglers_s,
        asked=asked,
    )


def _filled(asked: Asked, task: TaskId, cluster: ClusterSpec) -> dict[str, str]:
    place = place_of(task, cluster)
    return {name: fill(value, place) for name, value in asked.env.items()}


def plan_again(plan: Plan, *, attempt: int, addresses: Mapping[TaskId, str]) -> Plan:
    """The same tasks once more: who listens where may have changed, all else is as it was."""
    cluster = ClusterSpec({**plan.cluster.addresses, **addresses})
    return replace(
        plan,
        attempt=attempt,
        cluster=cluster,
        tasks=tuple(
            replace(
                one,
                address=cluster.addresses.get(one.task, ""),
                command=fill_command(plan.asked.command, place_of(one.task, cluster)),
                env={
                    **one.env,
                    **moved(plan.launch_for, one.task, one.env, before=plan.cluster, after=cluster),
                    **_filled(plan.asked, one.task, cluster),
                    "TF_CONFIG": cluster.tf_config(one.task),
                    "HOLDFAST_ATTEMPT": str(attempt),
                },
            )
            for one in plan.tasks
        ),
    )
