"""What the user asked for. Every setting has its one home and its default here."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadJob
from holdfast.model.foreign import FRAMEWORKS
from holdfast.model.line_choice import SHOW, SHOW_DEFAULT
from holdfast.model.placeholders import COUNTED, mistaken, names_in

TASKS_MAX = 1_000
GRACE_S_MAX = START_DEADLINE_S_MAX = 86_400.0
HANG_AFTER_S_MIN, HANG_AFTER_S_MAX = 5.0, 604_800.0
RELAUNCHES_MAX = 1_000
PROFILE_S_MIN, PROFILE_S_MAX = 0.1, 60.0
ON_FAILURE = ("stop", "recover", "ask")
# What a program can be asked with to save its training and end.
PREEMPT_SIGNALS = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    command: tuple[str, ...]
    workers: int = 1
    ps: int = 0
    chief: bool = False
    evaluator: bool = False
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    grace_s: float = 15.0  # between asking a task to end and killing it
    run_dir: str | None = None  # None: a fresh one under holdfast-runs/
    keep_bytes: int | None = None  # of each output file; None keeps all of it
    start_deadline_s: float = 120.0  # for the whole cluster to be up; 0 waits for ever
    # A standstill of so long is an error; 0: minutes, and many times the job's longest pause.
    hang_after_s: float = 0.0
    # Where each role's tasks listen, in the order of their index; empty: free ports, here.
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on_failure: str = "stop"  # one of ON_FAILURE
    max_relaunches: int = 3  # of the whole job, over all its attempts
    checkpoint_dir: str | None = None  # None: the program alone chooses what it restores
    dry_run: bool = False  # what would be done about a failure is told, and not done
    preempt_signal: str = "SIGTERM"  # one of PREEMPT_SIGNALS
    launch_for: str = ""  # one of FRAMEWORKS: what its processes want to hear beside TF_CONFIG
    guard_hdf5: bool = False  # a second writer of an HDF5 file is stopped in every task
    profile_stragglers_s: float = 0.0  # how long a trace of each; 0: none is taken
    show: str = SHOW_DEFAULT  # one of SHOW: from which level on lines are shown while it runs
    quiet_tensorflow: bool = False  # of what TensorFlow itself writes, only errors are shown

    def __post_init__(self) -> None:
        for wrong, message, do in _complaints(self):
            if wrong:
                raise BadJob(message, do=do)

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """Every task, in the order they are started and shown."""
        counts = {
            "ps": self.ps,
            "chief": int(self.chief),
            "worker": self.workers,
            "evaluator": int(self.evaluator),
        }
        return tuple(
            TaskId(role, index) for role, count in counts.items() for index in range(count)
        )


def _complaints(job: Job) -> tuple[tuple[bool, str, str], ...]:
    total = job.workers + job.ps
    return (
        (
            not job.command or not job.command[0],
            "there is no command to run",
            "put it behind `--`: holdfast run --workers 2 -- python train.py",
        ),
        (
            any("\0" in part for part in job.command),
            "the command contains a NUL character",
            "remove it: no operating system can pass it on",
        ),
        (job.workers < 0 or job.ps < 0, "a number of tasks is negative", "use 0 or more"),
        (
            job.workers == 0 and not job.chief,
            "the job has 0 workers and no chief, so nobody would train",
            "ask for at least one: --workers 1, or --chief",
        ),
        (
            total > TASKS_MAX,
            f"{total} tasks on one machine are more than the {TASKS_MAX} that are allowed",
            "ask for fewer --workers or --ps",
        ),
        *_out_of_bounds(job),
        *_not_theirs(job),
        *_misplaced(job),
        *_unfilled(job),
        *(
            (
                not name or "=" in name or "\0" in name + value,
                f"{name!r} cannot be the name of an environment variable",
                "write --env NAME=VALUE",
            )
            for name, value in job.env.items()
        ),
        (
            "TF_CONFIG" in job.env,
            "TF_CONFIG is set by Holdfast, a different one for every task",
            "leave it out of --env and of the job file",
        ),
    )


KEEP_BYTES_MIN = 65_536


def _out_of_bounds(job: Job) -> tuple[tuple[bool, str, str], ...]:
    return (
        *_times_out_of_bounds(job),
        (
            job.keep_bytes is not None and job.keep_bytes < KEEP_BYTES_MIN,
            f"keeping only {job.keep_bytes} bytes of output would lose the evidence",
            f"keep at least {KEEP_BYTES_MIN}: --keep-bytes 1M",
        ),
        (
            not 0 <= job.max_relaunches <= RELAUNCHES_MAX,
            f"{job.max_relaunches} relaunches are not between 0 and {RELAUNCHES_MAX}",
            "choose how often the job may be relaunched, such as --max-relaunches 3",
        ),
        (
            job.on_failure not in ON_FAILURE,
            f"{job.on_failure!r} is nothing that can be done on a failure",
            f"choose one of {', '.join(ON_FAILURE)}: --on-failure recover",
        ),
        (
            job.show not in SHOW,
            f"{job.show!r} is no level from which on lines can be shown",
            f"choose one of {', '.join(SHOW)}: --show warning",
        ),
        (
            job.profile_stragglers_s != 0
            and not PROFILE_S_MIN <= job.profile_stragglers_s <= PROFILE_S_MAX,
            (
                f"a trace of {job.profile_stragglers_s:g} s is not between {PROFILE_S_MIN:g} and"
                f" {PROFILE_S_MAX:g}"
            ),
            "choose how long a slow task is traced, such as --profile-stragglers 5; 0 takes none",
        ),
        (
            job.preempt_signal not in PREEMPT_SIGNALS,
            f"{job.preempt_signal!r} is no signal that tasks can be asked to save with",
            f"choose one of {', '.join(PREEMPT_SIGNALS)}: --preempt-signal SIGUSR1",
        ),
    )


def _times_out_of_bounds(job: Job) -> tuple[tuple[bool, str, str], ...]:
    return (
        (
            not 0 <= job.grace_s <= GRACE_S_MAX,
            f"a grace of {job.grace_s:g} s is not between 0 and {GRACE_S_MAX:g}",
            "choose the seconds a task gets to end by itself, such as --grace-s 15",
        ),
        (
            not 0 <= job.start_deadline_s <= START_DEADLINE_S_MAX,
            (
                f"a start deadline of {job.start_deadline_s:g} s is not between 0 and"
                f" {START_DEADLINE_S_MAX:g}"
            ),
            "choose the seconds until all tasks must be up; 0 waits for ever",
        ),
        (
            bool(job.hang_after_s) and not HANG_AFTER_S_MIN <= job.hang_after_s <= HANG_AFTER_S_MAX,
            (
                f"a hang after {job.hang_after_s:g} s is not between {HANG_AFTER_S_MIN:g} and"
                f" {HANG_AFTER_S_MAX:g}"
            ),
            "choose after how many seconds a job that stands still is hung; 0: by its own pauses",
        ),
    )


def _not_theirs(job: Job) -> tuple[tuple[bool, str, str], ...]:
    """What other frameworks do not know."""
    others = bool(job.ps or job.chief or job.evaluator)
    return (
        (
            job.launch_for not in ("", *FRAMEWORKS),
            f"{job.launch_for!r} is no framework whose variables can be set",
            f"choose one of {', '.join(FRAMEWORKS)}: --for torch",
        ),
        (
            bool(job.launch_for) and others,
            f"a job for {job.launch_for} has workers only: it counts processes, and has no roles",
            "leave out --ps, --chief and --evaluator",
        ),
    )


def _misplaced(job: Job) -> Iterator[tuple[bool, str, str]]:
    """Addresses must be one for each task, or none at all."""
    if not job.addresses:
        return
    counts = Counter(task.role for task in job.tasks)
    counts.pop("evaluator", None)  # nobody calls it
    for role in sorted({*counts, *job.addresses}):
        given = len(job.addresses.get(role, ()))
        yield (
            given != counts[role],
            f"{given} addresses are given for {counts[role]} tasks of the role {role!r}",
            "give one host:port for each task, in the order of their index",
        )


def _unfilled(job: Job) -> Iterator[tuple[bool, str, str]]:
    """Placeholders that are almost right, or that one of its tasks has no value for."""
    apart = next((task for task in job.tasks if not task.trains), None)
    for name in dict.fromkeys(names_in(job.command, job.env)):
        meant = mistaken(name)
        yield (
            bool(meant),
            f"{{{name}}} is no placeholder",
            f"did you mean {{{meant}}}? As a literal, write {{{{{name}}}}}",
        )
        yield (
            apart is not None and name in COUNTED,
            f"{{{name}}} counts those who train, and {apart} does not",
            f"use {{role}} and {{index}}; as a literal, write {{{{{name}}}}}",
        )
