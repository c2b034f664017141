"""A start stands only if all who train were seen, for long, in calls that only a start makes."""

from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import StacksSeen, StepsSeen, ThreadStack
from holdfast.recover.start_standing import Calls, are_fresh, standing_tasks, with_look
from holdfast.recover.starting import Start, notice

PS, A, B = (TaskId.parse(name) for name in ("ps:0", "worker:0", "worker:1"))
ALL = (PS, A, B)
TF = "site-packages/tensorflow/python"
WAITS = f"{TF}/client/session.py:1430 BaseSession._extend_graph: tf_session.ExtendSession(s)"
SERVES = f"{TF}/training/server_lib.py:185 Server.join: c_api.TF_ServerJoin(self._server)"
OWN = "/home/user/train.py:8 prepare_input: time.sleep(5)"


def look(task: TaskId, frame: str, at_s: float, pid: int = 7) -> StacksSeen:
    main = ThreadStack(thread=pid, name="MainThread", frames=(frame,), blocked="waker")
    return StacksSeen(at_s=at_s, host="h", task=task, pid=pid, threads=(main,), why="")


def seen(*looks: StacksSeen) -> Calls:
    calls: Calls = {}
    for one in looks:
        assert one.task is not None
        calls = with_look(calls, one.task, one)
    return calls


def stand(calls: Calls, ready: tuple[TaskId, ...] = ALL, at_s: float = 50.0) -> tuple[TaskId, ...]:
    return standing_tasks(calls, ALL, frozenset(ready), at_s=at_s, lasts_s=30.0)


BOTH = (look(A, WAITS, 10), look(B, WAITS, 15))


def test_all_who_train_stand_there() -> None:
    assert stand(seen(*BOTH)) == (A, B)
    assert stand(seen(*BOTH), at_s=40.0) == ()  # one of them not for long enough
    assert stand(seen(look(A, WAITS, 10), look(B, SERVES, 10))) == (A,)
    assert stand(seen(look(A, SERVES, 10), look(B, SERVES, 10))) == ()


def test_whoever_is_elsewhere_may_only_be_slow() -> None:
    assert stand(seen(look(A, WAITS, 10))) == ()
    assert stand(seen(*BOTH, look(B, OWN, 45))) == ()


def test_whoever_has_not_answered_may_only_be_late() -> None:
    assert stand(seen(*BOTH), ready=(A, B)) == ()
    # One that waits for its cluster need not answer before it has found it.
    assert stand(seen(*BOTH), ready=(PS, B)) == (A, B)


def test_another_process_begins_anew() -> None:
    assert stand(seen(*BOTH, look(A, WAITS, 30), look(B, WAITS, 30))) == (A, B)
    assert stand(seen(*BOTH, look(A, WAITS, 30, pid=8))) == ()


def test_looks_are_old_after_some_seconds() -> None:
    calls = seen(*BOTH, look(A, WAITS, 42))
    assert are_fresh(calls, (A,), at_s=50.0)
    assert not are_fresh(calls, (A, B), at_s=50.0)
    assert are_fresh(seen(look(PS, SERVES, 1)), (PS,), at_s=50.0)  # who serves is not asked


def test_a_step_ends_it() -> None:
    start = notice(notice(Start(), BOTH[0]), BOTH[1])
    first = StepsSeen(at_s=20, host="h", task=A, step=0, source="log")
    assert stand(notice(start, first).calls) == (A, B)
    grown = StepsSeen(at_s=21, host="h", task=A, step=9, source="log", step_s=0.1)
    assert stand(notice(start, grown).calls) == ()
