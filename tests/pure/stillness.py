"""Looks at tasks that stand still, for the tests of what is said of them."""

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted
from holdfast.model.watch_facts import StacksSeen, TaskWaits, ThreadStack

W0, W1, W2 = (TaskId("worker", index) for index in range(3))
TF = "site-packages/tensorflow/python/eager"
TRAIN = "/srv/train.py:9 <module>: main()"
STEP = (TRAIN, f"{TF}/execute.py:53 quick_execute: tensors = pywrap_tfe.TFE_Py_Execute(ctx)")
SLEEP = (TRAIN, "/srv/train.py:30 pause: time.sleep(60)")
LEAVES = ("lib/python3.11/threading.py:1590 _shutdown: lock.acquire()",)


def thread(
    *frames: str,
    blocked: str = "",
    running: bool = False,
    has_gil: bool = False,
    holds: tuple[str, ...] = (),
    name: str = "MainThread",
) -> ThreadStack:
    return ThreadStack(
        1, frames, name=name, running=running, holds=holds, blocked=blocked, has_gil=has_gil
    )


def look(*threads: ThreadStack, task: TaskId = W0, at_s: float = 100.0) -> StacksSeen:
    return StacksSeen(at_s=at_s, host="host-a", task=task, pid=7, threads=threads)


def in_step(task: TaskId, at_s: float = 100.0) -> StacksSeen:
    return look(thread(*STEP, blocked="waker"), task=task, at_s=at_s)


def asleep(task: TaskId, at_s: float = 100.0) -> StacksSeen:
    return look(thread(*SLEEP, blocked="timer"), task=task, at_s=at_s)


def process(
    does: str,
    *,
    pid: int = 7,
    parent: int = 1,
    command: str = "python train.py",
    on: str = "",
    holder: str = "",
    cores: float = 0.0,
    main_cores: float = 0.0,
    moved_bytes: int = -1,
    starved_share: float = 0.0,
) -> ProcessActivity:
    return ProcessActivity(
        pid=pid,
        parent=parent,
        command=command,
        state="S",
        does=does,
        on=on,
        holder=holder,
        cores=cores,
        main_cores=main_cores,
        moved_bytes=moved_bytes,
        starved_share=starved_share,
    )


def activity(*processes: ProcessActivity, task: TaskId = W0, at_s: float = 100.0) -> ActivitySeen:
    return ActivitySeen(at_s=at_s, host="host-a", task=task, over_s=1.0, processes=processes)


def waits(task: TaskId, for_s: float, at_s: float = 100.0, usual_s: float = 1.0) -> TaskWaits:
    return TaskWaits(at_s=at_s, host="host-a", task=task, waits_s=for_s, usual_s=usual_s)


def attempt(*tasks: TaskId, hang_after_s: float = 0.0) -> AttemptStarted:
    return AttemptStarted(
        at_s=0.0,
        host="host-a",
        began_unix_s=1.0,
        tasks=tuple(map(str, tasks)),
        holdfast="1",
        hang_after_s=hang_after_s,
    )
