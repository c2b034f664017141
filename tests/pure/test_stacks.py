"""What a thread does by its frames, who stands where, and which locks hold up each other."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.locks import cycle_in, waits_of
from holdfast.model.stack_page import moves, stacks_page
from holdfast.model.stacks import (
    Doing,
    Group,
    doing,
    frame_of,
    main_thread,
    merged,
    place_of,
    unmoved,
    user_frame,
)
from holdfast.model.watch_facts import StacksSeen, ThreadStack

MAIN = "/srv/job/train.py:96 <module>: main()"
STEP = "/srv/job/train.py:48 train: loss = train_step(batches)"
TF = "site-packages/tensorflow/python"
EXECUTE = f"{TF}/eager/execute.py:53 quick_execute: tensors = pywrap_tfe.TFE_Py_Execute(ctx,"
WAIT = "lib/python3.11/threading.py:327 Condition.wait: waiter.acquire()"
TIMED = "lib/python3.11/threading.py:331 Condition.wait: gotit = waiter.acquire(True, timeout)"
BOOT = "lib/python3.11/threading.py:1002 Thread._bootstrap: self._bootstrap_inner()"
LOCK = "/srv/job/data.py:88 refill: with lock_a:"


def stack(*frames: str, blocked: str = "waker", **rest: object) -> ThreadStack:
    return ThreadStack(thread=7, frames=frames, blocked=blocked, **rest)  # type: ignore[arg-type]


def seen(
    *threads: ThreadStack, at_s: float = 9.0, pid: int = 40, task: str = "worker:0"
) -> StacksSeen:
    who = TaskId.parse(task)
    return StacksSeen(at_s=at_s, host="host-a", task=who, pid=pid, threads=threads, why="still")


DOING: list[tuple[Doing, ThreadStack]] = [
    (Doing.UNKNOWN, stack()),
    (Doing.EXECUTE, stack(MAIN, STEP, EXECUTE)),
    (Doing.EXECUTE, stack(MAIN, f"{TF}/ops/gen_math_ops.py:9 f: x = pywrap_tfe.TFE_Py_FastPath(")),
    (Doing.READING, stack(MAIN, STEP, EXECUTE, blocked="do_signal_stop")),
    (
        Doing.EXECUTE,
        stack(
            MAIN,
            f"{TF}/distribute/input_lib.py:9 DistributedIterator.get_next: x",
            f"{TF}/distribute/cross_device_utils.py:3 all_reduce: x",
            EXECUTE,
        ),
    ),
    (
        Doing.INPUT,
        stack(
            MAIN,
            f"{TF}/data/ops/iterator_ops.py:831 OwnedIterator.__next__: x",
            f"{TF}/ops/gen_dataset_ops.py:3 iterator_get_next: _r = pywrap_tfe.TFE_Py_FastPath(",
        ),
    ),
    (
        Doing.EXECUTE,
        stack(
            MAIN, f"{TF}/client/session.py:1476 BaseSession._call_tf_sessionrun: return tf_session"
        ),
    ),
    (
        Doing.SERVER,
        stack(MAIN, f"{TF}/training/server_lib.py:185 Server.join: x", blocked="shared"),
    ),
    (Doing.LIBRARY, stack(MAIN, f"{TF}/eager/executor.py:65 Executor.wait: x")),
    (Doing.LOCK, stack(MAIN, LOCK)),
    (Doing.LOCK, stack(MAIN, LOCK, blocked="")),
    (Doing.LOCK, stack(MAIN, "/srv/job/data.py:9 refill: ok = lock_a.acquire()")),
    (Doing.LOCK, stack(MAIN, "/srv/job/data.py:9 refill: async with lock_a:")),
    (Doing.LOCK, stack(MAIN, "/srv/job/data.py:9 refill: items.get()", WAIT)),
    (
        Doing.LOCK,
        stack(
            MAIN, "lib/python3.11/threading.py:9 Thread._wait_for_tstate_lock: if lock.acquire(b,"
        ),
    ),
    (Doing.LIBRARY, stack(MAIN, "lib/python3.11/threading.py:9 Event.set: self._flag = True")),
    (Doing.READING, stack(MAIN, LOCK, blocked="do_signal_stop")),
    (Doing.SLEEP, stack(MAIN, LOCK, blocked="timer")),
    (Doing.SLEEP, stack(MAIN, TIMED, blocked="")),
    (Doing.SLEEP, stack(MAIN, "/srv/job/train.py:57 train: time.sleep(1)", blocked="")),
    (Doing.SLEEP, stack(MAIN, "/srv/job/train.py:57 train: time.sleep(1)", blocked="timer")),
    (Doing.SERVER, stack(BOOT, WAIT)),
    (
        Doing.SERVER,
        stack(
            MAIN,
            f"{TF}/distribute/coordinator/cluster_coordinator.py:547 ClusterCoordinator.join: x",
            WAIT,
        ),
    ),
    (Doing.SERVER, stack(BOOT, "lib/python3.11/concurrent/futures/thread.py:81 _worker: x")),
    (Doing.READING, stack(MAIN, "/srv/job/data.py:9 read: peer.recv(10)")),
    (Doing.READING, stack(MAIN, "/srv/job/data.py:9 read: go()", blocked="unix_stream_read")),
    (Doing.READING, stack(MAIN, "lib/python3.11/subprocess.py:9 Popen.wait: x")),
    (Doing.READING, stack(MAIN, "lib/python3.11/multiprocessing/connection.py:9 f: x", blocked="")),
    (Doing.USER, stack(MAIN, "/srv/job/train.py:31 loop: left = shrink(left)", blocked="")),
    (Doing.USER, stack(MAIN, "/srv/job/train.py:31 loop: x.acquire()", running=True)),
    (Doing.LIBRARY, stack(MAIN, "site-packages/numpy/a.py:3 dot", running=True)),
    (Doing.LIBRARY, stack(MAIN, "/srv/job/train.py:31 loop: native.run()")),
    (Doing.USER, stack(MAIN, "/srv/job/train.py:31 loop: with open('x') as file:", blocked="")),
]


@pytest.mark.parametrize(("what", "thread"), DOING)
def test_what_a_thread_does(what: Doing, thread: ThreadStack) -> None:
    assert doing(thread) is what


def test_frames_of_strangers_are_read_as_far_as_they_can() -> None:
    frame = frame_of("/srv/my job/train.py:48 Model.fit: a: b = {c: d}")
    assert (frame.file, frame.line, frame.name) == ("/srv/my job/train.py", 48, "fit")
    assert frame.code == "a: b = {c: d}"
    assert str(frame) == "train.py:48"
    for odd in ("", "nothing", "a:b c", "a:²  c", "::: :"):
        assert frame_of(odd).line == 0


def test_only_a_main_thread_that_could_be_read_counts() -> None:
    assert main_thread(seen()) is None
    assert main_thread(seen(stack(), stack(MAIN))) is None
    assert main_thread(seen(stack(MAIN))) == stack(MAIN)
    assert user_frame(stack(BOOT)) is None
    assert place_of(stack()) == ()
    assert place_of(stack(MAIN, STEP, EXECUTE)) == (
        "execute.py:53 quick_execute",
        "train.py:48 train",
    )


def test_tasks_at_the_same_place_are_one_group_and_the_odd_one_comes_last() -> None:
    stacks = {
        TaskId("worker", index): seen(stack(MAIN, STEP, EXECUTE), task=f"worker:{index}")
        for index in (0, 1, 2, 4, 5)
    }
    stacks[TaskId("worker", 3)] = seen(stack(MAIN, LOCK))
    stacks[TaskId("worker", 6)] = seen(stack(MAIN, "/srv/job/train.py:3 load"))
    stacks[TaskId("worker", 7)] = seen()
    assert [group.says for group in merged(stacks)] == [
        "5 tasks in execute.py:53 quick_execute, called at train.py:48 train",
        "worker:3 in data.py:88 refill: with lock_a:",
        "worker:6 in train.py:3 load",
        "worker:7: could not be read",
    ]
    assert merged({}) == ()
    assert isinstance(merged(stacks)[0], Group)


def test_a_main_thread_is_unmoved_only_over_some_time_in_one_process() -> None:
    here, there = stack(MAIN, LOCK), stack(MAIN, STEP)
    first, last = seen(here, at_s=5.0), seen(here, at_s=8.0)
    assert unmoved([last, first], over_s=2.0) == [first, last]
    assert unmoved([first, last], over_s=4.0) == []
    assert unmoved([last], over_s=0.0) == []
    assert unmoved([seen(there, at_s=5.0), seen(here, at_s=6.5), last], over_s=2.0) == []
    assert unmoved([seen(there, at_s=1.0), first, last], over_s=2.0) == [first, last]
    assert unmoved([seen(here, at_s=5.0, pid=9), last], over_s=2.0) == []
    assert unmoved([seen(at_s=5.0), seen(at_s=8.0)], over_s=2.0) == []


def test_locks_are_named_as_their_source_names_them() -> None:
    names = {
        "with lock_a:": "lock_a",
        "async with self._lock as held:": "self._lock",
        "with a, b:": "",
        "with a: go()": "a",
        "if not pool.lock.acquire():": "pool.lock",
        "ok=lock.acquire()": "lock",
        ".acquire()": "",
    }
    for code, lock in names.items():
        (wait,) = waits_of(seen(stack(MAIN, f"/srv/job/data.py:9 refill: {code}")))
        assert wait.lock == lock, code
    (queue,) = waits_of(seen(stack(MAIN, "/srv/job/data.py:9 refill: items.get()", WAIT)))
    assert (queue.lock, str(queue.at)) == ("", "data.py:9")


def waiting(lock: str, *holds: str, name: str = "", file: str = "/srv/job/data.py") -> ThreadStack:
    return stack(MAIN, f"{file}:9 refill: with {lock}:", holds=holds, name=name)


def test_threads_that_wait_for_each_other_are_a_ring() -> None:
    main = waiting("b", "/srv/job/data.py:5: with a, c as d:", name="main")
    loader = waiting("a", "/srv/job/data.py:7: with b:", name="loader")
    idle = stack(BOOT, WAIT)
    ring = cycle_in(waits_of(seen(main, idle, loader)))
    assert [(wait.thread.name, str(held)) for wait, held in ring] == [
        ("loader", "data.py:7"),
        ("main", "data.py:5"),
    ]


def test_a_thread_that_holds_what_it_waits_for_is_a_ring_of_one() -> None:
    ring = cycle_in(waits_of(seen(waiting("a", "/srv/job/data.py:5: with a:"))))
    assert [str(held) for _, held in ring] == ["data.py:5"]


def test_a_chain_and_a_namesake_elsewhere_are_no_ring() -> None:
    chain = seen(
        waiting("a", "torn", "/srv/job/data.py:x: with a:"),
        waiting("c", "/srv/job/data.py:5: with a:"),
    )
    assert cycle_in(waits_of(chain)) == []
    assert cycle_in(waits_of(seen(waiting("a", "/srv/job/other.py:5: with a:")))) == []
    into_ring = seen(
        waiting("x"),
        waiting("a", "/srv/job/data.py:3: with x:", "/srv/job/data.py:5: with b:"),
        waiting("b", "/srv/job/data.py:7: with a:"),
    )
    assert len(cycle_in(waits_of(into_ring))) == 2
    assert cycle_in([]) == []


def test_a_page_says_who_stands_where_and_who_moved() -> None:
    still = stack(MAIN, LOCK, name="MainThread", holds=("/srv/job/data.py:5: with b:",))
    rounds = [
        [seen(still, at_s=5.0), seen(stack(MAIN, STEP), at_s=5.0, task="worker:1")],
        [seen(still, at_s=8.0), seen(stack(MAIN, blocked=""), at_s=8.0, task="worker:1")],
    ]
    assert moves(rounds) == {TaskId("worker", 0): False, TaskId("worker", 1): True}
    assert stacks_page(rounds).splitlines() == [
        "8.0 s after the start, by py-spy; 2 looks: still",
        "worker:0 in data.py:88 refill: with lock_a:",
        "worker:1 in train.py:96 <module>: main()",
        "worker:0 did not move",
        "worker:1 moved",
        "",
        "worker:0, pid 40",
        "  MainThread: waits for another thread, in the kernel: waker",
        "    /srv/job/data.py:88 refill: with lock_a:",
        "    /srv/job/train.py:96 <module>: main()",
        "    holds /srv/job/data.py:5: with b:",
        "",
        "worker:1, pid 40",
        "  7: is in the user's own code",
        "    /srv/job/train.py:96 <module>: main()",
    ]


def test_one_round_and_another_process_tell_nothing_of_moves() -> None:
    now = seen(stack(MAIN), at_s=8.0)
    nobody = StacksSeen(at_s=8.0, host="host-a", pid=1, threads=(stack(MAIN),))
    assert moves([[now]]) == {}
    assert moves([[seen(stack(MAIN), pid=9)], [now, nobody]]) == {}
