"""How a job is distributed is known by what it does, else nobody knows; and then all relaunch."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LogLine, TimePassed, TracebackSeen
from holdfast.model.recovery_facts import ProgramRead
from holdfast.model.watch_facts import StacksSeen, ThreadStack
from holdfast.recover.strategy import Strategy, mentions_in, recognise, why_all

PS, CHIEF, W0, W1 = TaskId("ps", 0), TaskId("chief", 0), TaskId("worker", 0), TaskId("worker", 1)
EVALUATOR = TaskId("evaluator", 0)
WORKERS, WITH_PS = (W0, W1), (PS, CHIEF, W0, W1)
MIRRORED, SERVED = Strategy.MIRRORED, Strategy.PARAMETER_SERVER
SESSION, UNKNOWN = Strategy.SESSION, Strategy.UNKNOWN


def line(text: str) -> LogLine:
    return LogLine(at_s=1, host="a", task=W0, text=text)


def stack(*frames: str, name: str = "") -> StacksSeen:
    threads = (ThreadStack(thread=1, frames=frames, name=name),)
    return StacksSeen(at_s=1, host="a", task=W0, pid=7, threads=threads)


def program(*mentions: str) -> ProgramRead:
    return ProgramRead(at_s=1, host="a", path="train.py", mentions=mentions)


RING = line("ring_alg.cc:291] Aborting RingReduce with UNAVAILABLE: recvmsg:Connection reset")
LOST = line("ERROR:tensorflow:Worker /job:worker/replica:0/task:1 failed with UnavailableError()")
WAITS = line("master.cc:278] CreateSession still waiting for response from worker: /job:ps/…")
SERVICE = line("/job:worker/replica:0/task:0 has connected to coordination service.")
MONITORED = TracebackSeen(
    at_s=1,
    host="a",
    exception="AbortedError",
    message="",
    frames=("site-packages/tensorflow/python/training/monitored_session.py:9 run: x",),
)


@pytest.mark.parametrize(
    ("facts", "tasks", "strategy"),
    [
        ([], WORKERS, UNKNOWN),
        ([TimePassed(at_s=1, host="a")], WITH_PS, UNKNOWN),
        ([RING], WORKERS, MIRRORED),
        ([LOST, LOST], WITH_PS, SERVED),
        ([WAITS], WITH_PS, SESSION),
        ([MONITORED], WITH_PS, SESSION),
        ([MONITORED], WORKERS, UNKNOWN),
        ([RING], WITH_PS, UNKNOWN),
        ([RING, MONITORED], WORKERS, UNKNOWN),
        ([stack("a.py:1 f: x", name="WorkerClosureProcessingLoop-1")], WITH_PS, SERVED),
        ([stack("x/collective_all_reduce_strategy.py:9 __init__: f()")], WORKERS, MIRRORED),
        ([program("ParameterServerStrategy", "ClusterCoordinator")], WITH_PS, SERVED),
        ([program("MultiWorkerMirroredStrategy", "ParameterServerStrategy")], WITH_PS, UNKNOWN),
        (
            [program("MultiWorkerMirroredStrategy"), program("of a newer Holdfast")],
            WORKERS,
            MIRRORED,
        ),
        (
            [program("MultiWorkerMirroredStrategy", "ParameterServerStrategy"), LOST],
            WITH_PS,
            SERVED,
        ),
        ([SERVICE], WORKERS, MIRRORED),
        ([SERVICE], WITH_PS, UNKNOWN),
        ([SERVICE, LOST], WITH_PS, SERVED),
    ],
)
def test_recognised(facts: list[Fact], tasks: tuple[TaskId, ...], strategy: Strategy) -> None:
    known = recognise(facts, tasks)
    assert known.strategy is strategy
    assert known.why


def test_what_a_program_mentions() -> None:
    text = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
    assert mentions_in(text) == ("MultiWorkerMirroredStrategy",)
    assert mentions_in("print('hello')") == ()
    assert mentions_in("PreemptionCheckpointHandler(") == ("PreemptionCheckpointHandler",)


@pytest.mark.parametrize(
    ("strategy", "task", "tasks", "alone"),
    [
        (MIRRORED, W1, WORKERS, False),
        (MIRRORED, CHIEF, (CHIEF, W0), False),
        (SERVED, W1, WITH_PS, True),
        (SERVED, W0, (PS, W0), True),
        (SERVED, PS, WITH_PS, False),
        (SERVED, CHIEF, WITH_PS, False),
        (SESSION, W1, WITH_PS, True),
        (SESSION, W0, WITH_PS, True),
        (SESSION, W0, (PS, W0, W1), False),
        (SESSION, W1, (PS, W0, W1), True),
        (SESSION, PS, WITH_PS, False),
        (SESSION, CHIEF, WITH_PS, False),
        (UNKNOWN, W1, WITH_PS, False),
        *((strategy, EVALUATOR, (*WITH_PS, EVALUATOR), True) for strategy in Strategy),
    ],
)
def test_who_may_come_back_alone(
    strategy: Strategy, task: TaskId, tasks: tuple[TaskId, ...], *, alone: bool
) -> None:
    assert (why_all(strategy, task, tasks) == "") is alone
