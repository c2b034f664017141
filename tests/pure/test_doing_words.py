"""What a task is doing, in words."""

import pytest
from tests.pure.stillness import LEAVES, SLEEP, STEP, TRAIN, activity, look, process, thread

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.doing_words import (
    DEPTH_MAX,
    doing_words,
    is_working,
    process_words,
    stopped_child,
)
from holdfast.model.watch_facts import StacksSeen, ThreadStack

OWN = "/srv/train.py:30 load: x = f(path)"
LOCK = "/srv/train.py:30 load: with lock_a:"
HELD = ("/srv/train.py:20: with lock_a:",)
NO_STACK = " (its Python stack could not be read)"
NATIVE = thread(TRAIN, OWN, blocked="waker")
RUNS = thread(TRAIN, OWN, running=True)
READS = thread(TRAIN, "/srv/train.py:30 load: x = sock.recv(10)", blocked="sk_wait_data")
CHILD = process("sleeps", pid=8, parent=7, command="sleep 99")


def chain(length: int) -> tuple[ProcessActivity, ...]:
    """Each waits for the next one."""
    waiting = (
        process(
            "waits-for-child", pid=7 + at, parent=6 + at, command=f"sh {at}", on=f"pid {8 + at}"
        )
        for at in range(length)
    )
    return tuple(waiting)


@pytest.mark.parametrize(
    ("main", "processes", "verb", "rest"),
    [
        (thread(TRAIN, "/srv/train.py:30 load: time.sleep(60)", blocked="timer"), (), "sleeps", ""),
        (RUNS, (), "computes", ""),
        # Without py-spy nobody knows whether the thread runs: the kernel says that it does not.
        (thread(TRAIN, OWN), (process("waits-for-thread"),), "waits for another thread", ""),
        (thread(TRAIN, OWN), (process("waits-for-thread", cores=1.0),), "computes", ""),
        (
            RUNS,
            (process("computes", cores=1.0, main_cores=1.0),),
            "computes",
            ", 1.0 cores",
        ),
        (
            RUNS,
            (process("computes", cores=1.9, main_cores=0.1),),
            "computes",
            ", 1.9 cores in native threads",
        ),
        (
            RUNS,
            (process("computes", cores=0.4, main_cores=0.4, starved_share=0.6),),
            "computes",
            ", 0.4 cores, and wanted a core and got none 60% of the time",
        ),
        (
            READS,
            (process("reads", on="/data/x.bin", moved_bytes=2_000_000),),
            "reads",
            " (/data/x.bin), 1.9 MiB moved meanwhile",
        ),
        (
            READS,
            (process("reads", on="pipe", holder="pid 9 (cat)", moved_bytes=0),),
            "reads",
            " (pipe), held by pid 9 (cat), nothing moved meanwhile",
        ),
        (
            READS,
            (process("waits-for-lock", on="/data/lock", holder="pid 9 (python b.py)"),),
            "waits for a file lock",
            " (/data/lock), held by pid 9 (python b.py)",
        ),
        (
            READS,
            (process("waits-for-socket", on="10.0.0.2:80"),),
            "waits at a socket",
            " (10.0.0.2:80)",
        ),
        (READS, (), "waits for what comes from outside", ""),
        (
            READS,
            (process("disk"),),
            "is in uninterruptible I/O",
            "",
        ),
        (NATIVE, (), "waits in native code", ""),
        (
            NATIVE,
            (process("waits-for-child"), CHILD),
            "waits for a child process",
            ": pid 8 (sleep 99), which sleeps",
        ),
        (
            NATIVE,
            (process("waits-for-child", on="pid 99"),),
            "waits for a child process",
            ": pid 99",
        ),
        (
            NATIVE,
            (process("waits-for-child"),),
            "waits for a child process",
            "",
        ),
        (
            thread(TRAIN, OWN, blocked="hrtimer", has_gil=True),
            (process("sleeps", on="timer"),),
            "holds the interpreter's lock inside native code",
            " (timer)",
        ),
    ],
)
def test_its_own_line_and_what_it_does_there(
    main: ThreadStack, processes: tuple[ProcessActivity, ...], verb: str, rest: str
) -> None:
    words = doing_words(look(main), activity(*processes))
    assert words == f"it {verb} at train.py:30 in load{rest}"


def test_at_its_end_python_waits_for_a_thread_of_the_program() -> None:
    main = thread(*LEAVES, blocked="waker")
    stays = thread(TRAIN, OWN, name="prefetch", blocked="timer")
    pool = thread("lib/python3.11/concurrent/futures/thread.py:81 _worker: get()", name="pool")
    end = "it is at its end, in _shutdown (threading.py:1590)"
    assert doing_words(look(main, pool), None) == end
    words = f"{end}, waiting for thread prefetch at train.py:30 in load"
    assert doing_words(look(main, pool, stays), None) == words
    saves = thread("lib/python3.11/shutil.py:20 copy: write()", running=True)
    assert doing_words(look(saves, stays), None) == "it is at its end, in copy (shutil.py:20)"


def test_inside_of_its_framework() -> None:
    main, place = thread(*STEP, blocked="waker"), "at train.py:9 in <module>, inside quick_execute"
    assert doing_words(look(main), None) == f"it waits inside of its framework's step {place}"
    busy = activity(process("waits-for-thread", cores=0.9))
    assert doing_words(look(main), busy) == (
        f"it computes inside of its framework {place}, 0.9 cores in native threads"
    )


def test_without_a_line_of_its_own() -> None:
    runs = "lib/python3.11/runpy.py:88 <module>: run()"
    main = thread(runs, "lib/python3.11/json.py:4 dump: write()", running=True)
    assert doing_words(look(main), None) == "it computes in dump (json.py:4)"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (None, f"nothing is known of what it does{NO_STACK}"),
        (activity(), f"nothing is known of what it does{NO_STACK}"),
        (activity(process("stopped")), f"it is stopped (SIGSTOP){NO_STACK}"),
        (activity(process("levitates")), f"it levitates{NO_STACK}"),
        (
            activity(process("waits-for-child"), CHILD),
            f"it waits for a child process: pid 8 (sleep 99), which sleeps{NO_STACK}",
        ),
    ],
)
def test_without_a_stack_the_kernel_alone_speaks(known: ActivitySeen | None, words: str) -> None:
    assert doing_words(None, known) == words
    assert doing_words(look(thread()), known) == words


def test_children_that_wait_for_children_are_told_to_some_depth() -> None:
    words = doing_words(None, activity(*chain(DEPTH_MAX + 3)))
    assert words.count("which waits for a child process") == DEPTH_MAX
    assert f"(sh {DEPTH_MAX})" in words
    assert f"(sh {DEPTH_MAX + 1})" not in words


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            "killed by SIGKILL",
            "; pid 9 below it is dead (killed by SIGKILL), and nobody has taken note of it",
        ),
        ("", ""),  # it ended well, and is waited for in its turn
    ],
)
def test_a_child_that_died_is_told_beside_those_that_live(end: str, words: str) -> None:
    """The others may wait for it, and nobody for them: a queue that is not emptied any more."""
    family = (process("waits-for-child"), CHILD, process("gone", pid=9, parent=7, on=end))
    told = doing_words(look(thread(TRAIN, OWN)), activity(*family))
    assert told.endswith(f"which sleeps{words}")
    assert doing_words(None, activity(*family)).endswith(f"which sleeps{words}{NO_STACK}")


def test_who_holds_the_lock_is_told() -> None:
    waits = thread(TRAIN, LOCK, blocked="waker")
    holder = thread("/srv/train.py:21 feed: x.wait()", blocked="waker", holds=HELD, name="feeder")
    words = "it waits for a lock or another thread at train.py:30 in load"
    assert doing_words(look(waits), None) == words
    assert (
        doing_words(look(waits, holder), None)
        == f"{words}: lock_a is held by thread feeder since train.py:20"
    )
    both = thread(TRAIN, LOCK, blocked="waker", holds=HELD)
    assert doing_words(look(both), None) == f"{words}: it holds lock_a itself, since train.py:20"
    other = thread("/srv/train.py:21 feed: x()", holds=("/srv/train.py:20: with lock_b:",))
    assert doing_words(look(waits, other), None) == words


def test_code_that_the_framework_calls_back_is_what_it_waits_for() -> None:
    generator = thread(
        "site-packages/tensorflow/python/data/ops/from_generator_op.py:4 next: next()",
        "/srv/input.py:39 batches: time.sleep(60)",
        blocked="timer",
        name="Thread-1",
    )
    main = thread(*STEP, blocked="waker")
    assert doing_words(look(main, generator), activity(process("computes", cores=1.0))) == (
        "it sleeps at input.py:39 in batches in a thread that its framework waits for"
    )


@pytest.mark.parametrize(
    ("seen", "known", "works"),
    [
        (None, activity(process("computes")), True),
        (None, activity(process("reads", moved_bytes=5)), True),
        (None, activity(process("reads")), True),
        (None, activity(process("reads", moved_bytes=0)), False),
        (None, activity(process("waits-for-child"), process("computes", pid=8)), True),
        (None, activity(process("sleeps", cores=0.9)), True),
        (None, activity(process("sleeps")), False),
        (look(RUNS), None, True),
        (look(thread(*STEP, blocked="waker")), None, True),
        (look(thread(*SLEEP, blocked="timer")), None, False),
        (None, None, False),
    ],
)
def test_work_may_end_by_itself(
    *, seen: StacksSeen | None, known: ActivitySeen | None, works: bool
) -> None:
    assert is_working(seen, known) is works


def test_a_child_that_is_stopped_cannot_go_on() -> None:
    stopped = process("stopped", pid=8, parent=7)
    assert stopped_child(activity(process("waits-for-child"), stopped)) is stopped
    assert stopped_child(activity(process("computes"), stopped)) is None
    assert stopped_child(activity(process("waits-for-child"), CHILD)) is None
    assert stopped_child(None) is None


def test_a_pipe_of_its_own_is_held_by_nobody_else() -> None:
    own = process("reads", on="a pipe", holder="pid 7 (python train.py)", pid=7)
    assert process_words((own,)) == "reads (a pipe), of which it holds the other end itself"
