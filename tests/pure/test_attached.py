"""A cluster that somebody else has started, watched for some seconds: no habit, and no log."""

import pytest

from holdfast.catalogue.process.keeps_waiting import detect
from holdfast.diagnose import diagnose
from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Attached, AttemptStarted, Fact, PathProbed, ProbeBlind
from holdfast.model.findings import Proof, Severity, Verdict
from holdfast.model.idleness import does_nothing
from holdfast.model.path import Outcome
from holdfast.model.watch_facts import StacksSeen, TaskSampled, TaskWaits, ThreadStack

W0, W1, W2, PS, CHIEF = (
    TaskId("worker", 0),
    TaskId("worker", 1),
    TaskId("worker", 2),
    TaskId("ps", 0),
    TaskId("chief", 0),
)
ATTACHED = Attached(at_s=0.0, host="a")
STARTED = AttemptStarted(
    at_s=0.0, host="a", began_unix_s=0.0, tasks=("worker:0", "worker:1"), holdfast="0"
)
STEP = (
    "train.py:9 main: step()",
    "site-packages/tensorflow/python/eager/execute.py:53 quick_execute: TFE_Py_Execute(x)",
)
SLEEPS = ("train.py:7 poll: time.sleep(1)",)
JOINS = (
    "ps.py:9 <module>: server.join()",
    "site-packages/tensorflow/python/training/server_lib.py:9 Server.join: self._s.join()",
)
TRAINS = "its servers answer, and nothing here shows a step"


def answers(*tasks: TaskId) -> list[Fact]:
    return [
        PathProbed(
            at_s=0.1,
            host="a",
            address=f"10.0.0.1:{2222 + number}",
            outcome=Outcome.ANSWERED,
            target=task,
            name=str(task),
        )
        for number, task in enumerate(tasks)
    ]


def stack(task: TaskId, frames: tuple[str, ...], *, blocked: str = "waker") -> StacksSeen:
    thread = ThreadStack(thread=7, frames=frames, blocked=blocked)
    return StacksSeen(at_s=1.0, host="a", task=task, pid=7, threads=(thread,))


def waits(task: TaskId, *, waits_s: float = 3.0, at_least: bool = True) -> TaskWaits:
    return TaskWaits(at_s=3.2, host="a", task=task, waits_s=waits_s, at_least=at_least)


def activity(task: TaskId, does: str = "waits-for-thread") -> ActivitySeen:
    process = ProcessActivity(pid=41, parent=1, command="python", state="S", does=does)
    return ActivitySeen(at_s=3.1, host="a", task=task, over_s=3.0, processes=(process,))


def sampled(task: TaskId, *, cores: float, main: float, wakes: int) -> TaskSampled:
    return TaskSampled(
        at_s=3.2,
        host="a",
        task=task,
        pid=41,
        state="S",
        over_s=3.0,
        cpu_share=cores,
        main_cpu_share=main,
        main_wakes=wakes,
    )


def proofs(*facts: Fact) -> list[Proof]:
    return list(detect(Evidence(facts)))


@pytest.mark.parametrize(
    ("cores", "main", "wakes", "idle"),
    [(0.0, 0.0, 0, True), (0.5, 0.0, 0, False), (0.029, 0.025, 0, False), (0.0, 0.0, 1, False)],
)
def test_who_neither_woke_nor_used_a_core_did_nothing(
    cores: float, main: float, wakes: int, *, idle: bool
) -> None:
    assert does_nothing(cores=cores, main_cores=main, wakes=wakes) is idle


def test_who_is_not_in_the_step_is_named_also_if_it_wakes_up_now_and_then() -> None:
    seen = [ATTACHED, *answers(W0, W1, W2), waits(W0), waits(W1)]
    stacks = [stack(W0, STEP), stack(W1, STEP), stack(W2, SLEEPS, blocked="timer")]
    (proof,) = proofs(*seen, *stacks, activity(W2, "sleeps"))
    assert (proof.culprit, proof.severity) == (W2, Severity.NOTICE)
    assert proof.says == (
        "worker:0 and worker:1 wait for worker:2 since at least 3 s:"
        " it sleeps at train.py:7 in poll"
    )
    assert proof.do == ("see what it does: py-spy dump --nonblocking --pid 41",)


def test_how_long_it_lasts_is_known_of_a_wait_that_began_before_our_eyes() -> None:
    told = waits(W0, waits_s=9.0, at_least=False)
    (proof,) = proofs(ATTACHED, told, stack(W0, SLEEPS, blocked="timer"))
    assert proof.says.startswith("worker:0 stands still since 9 s: it sleeps at train.py:7")
    assert proof.do == (), "whose process that is, nobody has seen"


def test_in_a_run_its_own_command_shows_more() -> None:
    (proof,) = proofs(STARTED, waits(W0), stack(W0, SLEEPS, blocked="timer"))
    assert proof.do[0] == "see what it does: holdfast stacks RUN_DIR --task worker:0"


def test_where_all_wait_nobody_knows_who_was_last() -> None:
    seen = [ATTACHED, waits(W0), waits(W1), stack(W0, STEP), stack(W1, STEP)]
    (proof,) = proofs(*seen)
    assert proof.culprit is None
    assert "all wait since at least 3 s, and nobody is ahead" in proof.says
    assert "last to begin" not in proof.says


def test_a_server_is_not_accused() -> None:
    assert proofs(ATTACHED, waits(W0), stack(W0, JOINS)) == []


@pytest.mark.parametrize(
    ("tasks", "named"),
    [([W0, PS], []), ([W0], [W0]), ([W0, W1], [W0]), ([CHIEF, PS], [CHIEF])],
)
def test_without_stacks_a_worker_beside_parameter_servers_may_serve(
    tasks: list[TaskId], named: list[TaskId]
) -> None:
    one = tasks[0]
    found = proofs(ATTACHED, *answers(*tasks), waits(one), activity(one))
    assert [proof.culprit for proof in found] == named


def test_a_notice_is_no_health() -> None:
    seen = [ATTACHED, *answers(W0), waits(W0), stack(W0, SLEEPS, blocked="timer")]
    diagnosis = diagnose(Evidence(seen))
    assert [finding.name for finding in diagnosis.findings] == ["keeps-waiting"]
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.healthy == ()
    assert diagnosis.unknown == ()


def test_answers_of_servers_are_no_proof_that_anybody_trains() -> None:
    diagnosis = diagnose(Evidence([ATTACHED, *answers(PS, W0, W1)]))
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.findings == ()
    assert diagnosis.healthy == (PS,)
    assert diagnosis.unknown == (f"whether it trains: {TRAINS}",)


@pytest.mark.parametrize(
    ("cores", "main", "wakes", "well"),
    [
        (0.2, 0.1, 30, True),  # a step now and then
        (1.8, 0.0, 0, True),  # inside of a long step
        (1.0, 1.0, 4, True),  # it computes, and waits for others
        (1.0, 1.0, 0, False),  # it may run in circles
        (0.01, 0.01, 30, False),  # it only looks whether something comes
    ],
)
def test_who_is_seen_at_its_work_is_well(
    cores: float, main: float, wakes: int, *, well: bool
) -> None:
    seen = [ATTACHED, *answers(W0, W1), sampled(W0, cores=cores, main=main, wakes=wakes)]
    diagnosis = diagnose(Evidence(seen))
    assert diagnosis.healthy == ((W0,) if well else ())
    assert diagnosis.verdict is (Verdict.HEALTHY if well else Verdict.CANNOT_TELL)
    (unknown,) = diagnosis.unknown
    assert unknown.startswith("how worker:1 fared" if well else "whether it trains")


def test_nothing_is_unknown_where_all_are_seen_at_their_work() -> None:
    works = [sampled(task, cores=0.2, main=0.1, wakes=9) for task in (W0, W1)]
    diagnosis = diagnose(Evidence([ATTACHED, *answers(W0, W1), *works]))
    assert (diagnosis.healthy, diagnosis.unknown) == ((W0, W1), ())


def test_what_is_wrong_already_leaves_nothing_else_to_ask() -> None:
    """Who else gets on is nobody's question while one is missing."""
    refused = PathProbed(
        at_s=0.1, host="a", address="10.0.0.1:9", outcome=Outcome.REFUSED, target=W2
    )
    diagnosis = diagnose(Evidence([ATTACHED, *answers(W0, W1), refused]))
    assert diagnosis.verdict is Verdict.SICK
    assert diagnosis.unknown == ()


def test_that_stacks_could_not_be_read_is_said() -> None:
    blind = ProbeBlind(at_s=1.0, host="a", probe="stacks", why="py-spy is not installed")
    diagnosis = diagnose(Evidence([ATTACHED, *answers(W0), blind]))
    assert "stacks: py-spy is not installed" in diagnosis.unknown
