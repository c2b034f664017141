"""Where a task stands among the others."""

import pytest
from tests.pure.stillness import LEAVES, SLEEP, STEP, TF, TRAIN, activity, look, process, thread

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.stance import Stance, computes, own_frame, stance_of
from holdfast.model.watch_facts import StacksSeen, ThreadStack

MAIN_STEP = thread(*STEP, blocked="waker")
COLLECTIVE = "/srv/ddp.py:40 train: dist.all_reduce(gradient)"
TORCH = "site-packages/torch/distributed/distributed_c10d.py:2501 all_reduce: work.wait()"
JAX = "/srv/jax_train.py:12 step: loss = update(params)"
GENERATOR = thread(
    "site-packages/tensorflow/python/data/ops/from_generator_op.py:4 generator_py_func: next()",
    "/srv/input.py:39 batches: time.sleep(60)",
    blocked="timer",
    name="Thread-1",
)
IDLE_THREAD = thread("/srv/train.py:4 watch: queue.get()", blocked="waker", name="watcher")
NEXT = (
    TRAIN,
    "site-packages/tensorflow/python/data/ops/iterator_ops.py:8 __next__: return self.get()",
    "site-packages/tensorflow/python/ops/gen_dataset_ops.py:9 iterator_get_next: TFE_Py_Execute()",
)


@pytest.mark.parametrize(
    ("seen", "known", "stance"),
    [
        (look(MAIN_STEP), None, Stance.STEP),
        (look(thread(TRAIN, COLLECTIVE, TORCH, blocked="waker")), None, Stance.STEP),
        (look(thread(TRAIN, COLLECTIVE, TORCH, blocked="sk_wait_data")), None, Stance.STEP),
        (look(thread(TRAIN, COLLECTIVE, TORCH, blocked="wait_woken")), None, Stance.STEP),
        (look(thread(TRAIN, COLLECTIVE, TORCH, blocked="folio_wait")), None, Stance.OWN),
        (look(thread(TRAIN, JAX, blocked="waker")), None, Stance.NATIVE),
        (look(thread(TRAIN, JAX, blocked="shared")), None, Stance.NATIVE),
        (look(thread(TRAIN, JAX, running=True)), None, Stance.OWN),
        (look(MAIN_STEP), activity(process("computes", cores=0.9)), Stance.COMPUTES),
        (look(thread(*STEP, running=True)), None, Stance.COMPUTES),
        (look(thread(TRAIN, f"{TF}/def.py:3 trace: f()", running=True)), None, Stance.OWN),
        (look(thread(*NEXT, blocked="waker")), None, Stance.OWN),
        (look(MAIN_STEP, GENERATOR), None, Stance.CALLED_BACK),
        (look(MAIN_STEP, IDLE_THREAD, thread()), None, Stance.STEP),
        (look(thread(*SLEEP, blocked="timer")), None, Stance.OWN),
        (look(thread(*STEP, blocked="waker", has_gil=True)), None, Stance.STEP),
        (look(thread(TRAIN, JAX, blocked="waker", has_gil=True)), None, Stance.OWN),
        (look(thread(*LEAVES, blocked="waker")), None, Stance.LEAVES),
        (
            look(
                thread(
                    TRAIN,
                    "site-packages/tensorflow/python/training/server_lib.py:9 join: c.Join()",
                    blocked="waker",
                )
            ),
            None,
            Stance.SERVES,
        ),
        (look(thread()), activity(process("sleeps")), Stance.OWN),
        (None, activity(process("waits-for-child")), Stance.OWN),
        (None, activity(process("polls")), Stance.UNKNOWN),
        (None, activity(), Stance.UNKNOWN),
        (None, None, Stance.UNKNOWN),
    ],
)
def test_stance(seen: StacksSeen | None, known: ActivitySeen | None, stance: Stance) -> None:
    assert stance_of(seen, known) is stance


@pytest.mark.parametrize(
    ("main", "place"),
    [
        (MAIN_STEP, "train.py:9"),
        (thread("site-packages/trainer/run.py:5 main: go()", STEP[1]), "run.py:5"),
        (thread("lib/python3.11/runpy.py:5 run: go()", STEP[1]), "None"),
        (thread(), "None"),
    ],
)
def test_its_own_line_is_the_innermost_that_is_no_framework(main: ThreadStack, place: str) -> None:
    assert str(own_frame(main)) == place


def test_only_the_process_that_trains_counts() -> None:
    child = process("computes", pid=8, parent=7, cores=1.0)
    assert not computes(activity(process("waits-for-child"), child))
    assert not computes(None)
    assert computes(activity(process("computes", cores=0.5)))
