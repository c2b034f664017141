"""Whom TensorFlow's messages speak of."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LogLine, TimePassed, TracebackSeen
from holdfast.model.named_tasks import NAMES_MAX, call_targets, named_tasks, tasks_in

PS, WORKER_0, WORKER_1 = TaskId("ps", 0), TaskId("worker", 0), TaskId("worker", 1)
# Cut from a chief whose parameter server died: the headline names a healthy worker.
HEADLINE = "ERROR:tensorflow:Remote function on worker /job:worker/replica:0/task:1 failed with"
CALLS = (
    "Connection reset by peer\n"
    "Additional GRPC error information from remote target /job:ps/replica:0/task:0/device:CPU:0"
    " while calling /tensorflow.eager.EagerService/RunComponentFunction:\n"
    "Additional GRPC error information from remote target /job:worker/replica:0/task:0 while"
    " calling /tensorflow.eager.EagerService/Enqueue:"
)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("nobody", ()),
        ("/job:worker/task:1", (WORKER_1,)),
        ("/job:worker/replica:0/task:1/device:CPU:0", (WORKER_1,)),
        ("/job:worker/task:1 and /job:ps/task:0 and /job:worker/task:1", (WORKER_1, PS)),
        ("/job:worker/task:1234567", ()),
        (f"/job:{'a' * 64}/task:1", ()),
        ("/job:Worker/task:1", ()),
    ],
)
def test_tasks_in_a_text(text: str, tasks: tuple[TaskId, ...]) -> None:
    assert tasks_in(text) == tasks


def test_a_text_full_of_names_gives_a_bounded_number() -> None:
    text = " ".join(f"/job:worker/task:{index}" for index in range(3 * NAMES_MAX))
    assert len(tasks_in(text)) == NAMES_MAX


@pytest.mark.parametrize(
    ("fact", "named", "called"),
    [
        (LogLine(at_s=1, host="a", text=HEADLINE), (WORKER_1,), ()),
        (LogLine(at_s=1, host="a", text=HEADLINE + CALLS), (PS, WORKER_0), (PS, WORKER_0)),
        (
            TracebackSeen(at_s=1, host="a", exception="UnavailableError", message=CALLS),
            (PS, WORKER_0),
            (PS, WORKER_0),
        ),
        (TimePassed(at_s=1, host="a"), (), ()),
    ],
    ids=["headline", "headline and calls", "traceback", "another fact"],
)
def test_the_target_of_a_failed_call_counts_more_than_the_headline(
    fact: Fact, named: tuple[TaskId, ...], called: tuple[TaskId, ...]
) -> None:
    assert named_tasks(fact) == named
    assert call_targets(fact) == called
