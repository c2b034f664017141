"""Whom a coordinator waits for by its threads: only where it stands still."""

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, StopAsked, TaskExited
from holdfast.model.stack_rounds import looks_at, still_at
from holdfast.model.stack_waits import stack_waits
from holdfast.model.watch_facts import StacksSeen, TaskMoves, TaskStill, ThreadStack

MAIN = "/srv/job/train.py:96 <module>: main()"
TF = "site-packages/tensorflow/python"
ANSWER = f"{TF}/eager/execute.py:103 execute_with_cancellation: tensors = pywrap_tfe.TFE_Py_Exec("
LOCK = "/srv/job/data.py:88 refill: with lock_a:"
SLEEP = "/srv/job/train.py:57 train: time.sleep(60)"
JOIN = f"{TF}/training/server_lib.py:185 Server.join: c_api.TF_ServerJoin(self._server)"


def stack(frame: str, *, name: str = "MainThread", thread: int = 7) -> ThreadStack:
    return ThreadStack(thread=thread, frames=(MAIN, frame), name=name, blocked="waker")


def seen(task: str, *threads: ThreadStack, at_s: float, pid: int = 40) -> StacksSeen:
    who = TaskId.parse(task)
    return StacksSeen(at_s=at_s, host="host-a", task=who, pid=pid, threads=threads)


def still(task: str, at_s: float = 66.0, still_s: float = 12.0) -> TaskStill:
    who = TaskId.parse(task)
    return TaskStill(at_s=at_s, host="host-a", task=who, still_s=still_s, usual_s=1.0, sign="steps")


def began(*tasks: str) -> AttemptStarted:
    return AttemptStarted(at_s=0.0, host="host-a", began_unix_s=1.0, tasks=tasks, holdfast="0.1.0")


def edges(*facts: Fact) -> list[str]:
    waits = stack_waits(Evidence([began("worker:0", "worker:1", "worker:2"), *facts]))
    return sorted(f"{wait.waiter} -> {wait.awaited}" for wait in waits)


def chief(at_s: float, *threads: ThreadStack, pid: int = 40) -> StacksSeen:
    return seen("chief:0", stack(SLEEP), *threads, at_s=at_s, pid=pid)


def loop(index: str, frame: str = ANSWER, thread: int = 8) -> ThreadStack:
    return stack(frame, name=f"WorkerClosureProcessingLoop-{index}", thread=thread)


def test_a_coordinator_waits_for_the_worker_whose_thread_has_no_answer() -> None:
    threads = (loop("0", JOIN, 9), loop("1"), loop("7", thread=10), loop("x", thread=11))
    torn = ThreadStack(thread=12, frames=(), name="WorkerClosureProcessingLoop-2")
    facts = [chief(64.0, *threads, torn), chief(66.5, *threads, torn), still("chief:0")]
    assert edges(*facts) == ["chief:0 -> worker:1"]


def test_a_coordinator_that_asks_anew_waits_for_nobody() -> None:
    other = chief(66.5, loop("1"))
    assert edges(chief(64.0, loop("1", JOIN)), other, still("chief:0")) == []
    assert edges(chief(64.0, loop("1"), pid=9), other, still("chief:0")) == []
    assert edges(other, still("chief:0")) == []


def test_looks_count_until_a_task_is_ended() -> None:
    looks = [seen("worker:1", stack(LOCK), at_s=at_s) for at_s in (4.0, 8.0, 12.0)]
    task = TaskId("worker", 1)
    assert len(looks_at(Evidence(looks), task)) == 3
    stop = StopAsked(at_s=9.0, host="host-a", by="Ctrl-C", signal=2)
    assert len(looks_at(Evidence([*looks, stop]), task)) == 2
    gone = TaskExited(at_s=5.0, host="host-a", task=task, exit_code=1, signal=None)
    assert len(looks_at(Evidence([*looks, gone]), task)) == 1


def test_a_stillness_counts_while_it_lasts() -> None:
    task = TaskId("worker", 1)
    told = still("worker:1", at_s=66.0, still_s=12.0)
    assert still_at(Evidence([told]), task, 60.0) == told
    assert still_at(Evidence([told]), task, 53.0) is None, "it began later"
    assert still_at(Evidence([told]), task, 99.0) == told, "it may be told again within a minute"
    assert still_at(Evidence([told]), task, 142.0) is None, "that was long ago"
    later = still("worker:1", at_s=700.0, still_s=646.0)
    assert still_at(Evidence([later]), task, 60.0) == later, "looks become rare, and it lasts"
    again = still("worker:1", at_s=71.0, still_s=17.0)
    assert still_at(Evidence([told, again]), task, 66.5) == again
    went_on = TaskMoves(at_s=50.0, host="host-a", task=task, still_s=3.0)
    assert still_at(Evidence([told, went_on]), task, 66.5) == told
    new = still("worker:1", at_s=700.0, still_s=20.0)
    assert still_at(Evidence([told, new]), task, 60.0) is None, "it went on in between"
