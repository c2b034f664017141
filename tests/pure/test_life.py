"""Whatever happens, and in whatever order, a life keeps its promises."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    Fact,
    SignalAsked,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskIdle,
    TaskNotStarted,
    TaskStarted,
    TimePassed,
)
from holdfast.model.job import Job
from holdfast.model.orders import EndAttempt, Order, SendSignal, WatchIdle
from holdfast.recover.life import Life, Phase, advance

SIGKILL = 9
PASSED_ON = (10, 12)
GRACE_S = 15.0
jobs = st.builds(
    Job,
    command=st.just(("train",)),
    workers=st.integers(1, 3),
    ps=st.integers(0, 2),
    chief=st.booleans(),
    evaluator=st.booleans(),
)
waits_s = st.floats(0, 50)


@dataclass
class Story:
    """A life told fact by fact, with an agent that obeys every order at once."""

    life: Life
    at_s: float = 0.0
    orders: list[Order] = field(default_factory=list)

    def tell(self, fact: Fact) -> list[Order]:
        running = self.life.running
        self.life, orders = advance(self.life, fact)
        self.orders += orders
        for order in orders:
            if isinstance(order, SendSignal | WatchIdle):
                assert order.task in self.life.running
                assert order.task in running
            if isinstance(order, SendSignal):
                word = SignalSent(
                    at_s=fact.at_s, host="a", task=order.task, signal=order.signal, why=order.why
                )
                self.tell(word)
        return list(orders)


def story_of(job: Job) -> Story:
    return Story(Life(tasks=job.tasks, grace_s=job.grace_s))


@st.composite
def any_fact(draw: st.DrawFn, job: Job, at_s: float) -> Fact:
    task = draw(st.sampled_from(job.tasks))
    number = draw(st.sampled_from([1, 2, 9, 15]))
    return draw(
        st.sampled_from(
            [
                TaskExited(at_s=at_s, host="a", task=task, exit_code=0),
                TaskExited(at_s=at_s, host="a", task=task, exit_code=1),
                TaskExited(at_s=at_s, host="a", task=task, signal=number),
                TaskNotStarted(at_s=at_s, host="a", task=task, command="x", errno_name="ENOENT"),
                TaskIdle(at_s=at_s, host="a", task=task, idle_s=20),
                SignalSent(at_s=at_s, host="a", task=task, signal=number, why="late news"),
                StopAsked(at_s=at_s, host="a", by="x", signal=number),
                StopAsked(at_s=at_s, host="a", by="x", signal=number, now=True),
                SignalAsked(at_s=at_s, host="a", by="x", signal=draw(st.sampled_from(PASSED_ON))),
                TimePassed(at_s=at_s, host="a"),
                TaskExited(at_s=at_s, host="a", exit_code=1),
            ]
        )
    )


@given(st.data(), jobs)
def test_promises(data: st.DataObject, job: Job) -> None:
    story = story_of(job)
    for task in job.tasks:
        story.tell(TaskStarted(at_s=0.0, host="a", task=task, pid=7))
    for _ in range(data.draw(st.integers(0, 25))):
        story.at_s += data.draw(waits_s)
        story.tell(data.draw(any_fact(job, story.at_s)))

    rungs = Counter(
        (order.task, order.signal)
        for order in story.orders
        if isinstance(order, SendSignal) and order.signal not in PASSED_ON
    )
    assert all(times == 1 for times in rungs.values()), "each signal is ordered once"
    watches = Counter(order for order in story.orders if isinstance(order, WatchIdle))
    assert all(times <= 2 for times in watches.values())
    ends = [order for order in story.orders if isinstance(order, EndAttempt)]
    assert len(ends) == (story.life.phase is Phase.ENDED)
    assert bool(ends) == (not story.life.running)
    if ends:
        assert story.orders[-1] == ends[0], "after the end there are no orders"


@given(st.data(), jobs)
def test_whoever_asks_to_stop_gets_it(data: st.DataObject, job: Job) -> None:
    story = story_of(job)
    for _ in range(data.draw(st.integers(0, 6))):
        story.at_s += data.draw(waits_s)
        story.tell(data.draw(any_fact(job, story.at_s)))
    first, now = data.draw(st.sampled_from([1, 2, 15])), data.draw(st.booleans())
    story.tell(StopAsked(at_s=story.at_s, host="a", by="x", signal=first, now=now))
    survivors = story.life.running
    for _ in range(20):
        story.at_s += GRACE_S
        story.tell(TimePassed(at_s=story.at_s, host="a"))
        story.tell(SignalAsked(at_s=story.at_s, host="a", by="x", signal=PASSED_ON[0]))
    killed = {
        order.task
        for order in story.orders
        if isinstance(order, SendSignal) and order.signal == SIGKILL
    }
    assert killed.issuperset(survivors), "what does not go by itself is killed"
    for task in survivors:
        story.tell(TaskExited(at_s=story.at_s, host="a", task=task, signal=SIGKILL))
    assert story.life.phase is Phase.ENDED


@given(st.data(), jobs)
def test_the_same_facts_give_the_same_orders(data: st.DataObject, job: Job) -> None:
    facts = [data.draw(any_fact(job, float(at_s))) for at_s in range(10)]
    one, two = story_of(job), story_of(job)
    for fact in facts:
        assert one.tell(fact) == two.tell(fact)
    assert one.life == two.life


@given(jobs)
def test_nobody_is_disturbed_while_all_is_well(job: Job) -> None:
    story = story_of(job)
    for task in job.tasks:
        story.tell(TaskStarted(at_s=0, host="a", task=task, pid=7))
    for at_s in range(0, 100_000, 997):
        story.tell(TimePassed(at_s=float(at_s), host="a"))
    assert story.orders == []


def test_after_the_end_nothing_happens() -> None:
    story = story_of(Job(command=("train",)))
    story.tell(TaskExited(at_s=1, host="a", task=TaskId("worker", 0), exit_code=0))
    ended = story.life
    story.tell(StopAsked(at_s=2, host="a", by="x", signal=2))
    assert (story.life, story.orders) == (ended, [EndAttempt(why="the training is over")])


def test_a_task_that_is_not_ours_changes_nothing() -> None:
    job = Job(command=("train",))
    story = story_of(job)
    stranger = TaskId("worker", 9)
    story.tell(TaskIdle(at_s=1, host="a", task=stranger, idle_s=5))
    assert story.life.phase is Phase.TRAINING


def test_a_task_that_starts_into_the_end_of_the_job_is_told_of_it() -> None:
    """One task could not be started; the next one was already on its way."""
    story = story_of(Job(command=("x",), workers=2))
    first, late = story.life.tasks
    missing = TaskNotStarted(at_s=1.0, host="a", task=first, command="x", errno_name="EAGAIN")
    story.tell(missing)
    orders = story.tell(TaskStarted(at_s=1.1, host="a", task=late, pid=7))
    assert [(order.task, order.signal) for order in orders if isinstance(order, SendSignal)] == [
        (late, 15)
    ]
    assert story.tell(TaskStarted(at_s=1.2, host="a", task=late, pid=7)) == []
