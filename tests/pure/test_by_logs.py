"""From logs alone: root before symptom, and the culprit before those who complain of it."""

from dataclasses import replace

from holdfast.diagnose import catalogue
from holdfast.diagnose.by_logs import said
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_exceptions import exceptions
from holdfast.diagnose.log_records import records
from holdfast.diagnose.log_summaries import failed_first
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    OutputEnded,
    TracebackSeen,
)
from holdfast.model.findings import Cause, Confidence, Finding, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

W0, W1, W2, PS0 = (TaskId("worker", 0), TaskId("worker", 1), TaskId("worker", 2), TaskId("ps", 0))
PROVEN = Cause(family="disk-full", remedy=AskHuman(), words=(Words(Pattern("disk is full")),))
SIGNED = Cause(
    family="dns-failure",
    remedy=AskHuman(),
    words=(Words(Pattern("no such name(?: as (?P<culprit>[a-z-]+))?"), Weight.SIGN),),
    yields_to=frozenset({"proven"}),
)
LOST = Cause(
    family="peer-restarted",
    remedy=AskHuman(),
    words=(Words(Pattern("lost"), Weight.SYMPTOM, says="{who} was lost: {line}"),),
    echo=True,
)
WAITING = Cause(
    family="startup-waiting-for-worker",
    remedy=AskHuman(),
    words=(Words(Pattern("waits for (?P<culprit>/job:\\S+)"), last=True),),
)
REAL = catalogue()
CAUSES = {
    "proven": PROVEN,
    "signed": SIGNED,
    "peer-gone": LOST,
    "never-started": WAITING,
    "user-exception": REAL["user-exception"],
    "spec-without-cluster": REAL["spec-without-cluster"],
    "log-stops": REAL["log-stops"],
    "ended-early": REAL["ended-early"],
}


def line(text: str, task: TaskId | None = W0, at_s: float = 1.0, number: int = 1) -> LogLine:
    return LogLine(
        at_s=at_s, host="", task=task, text=text, line=number, source=f"{task or 'job'}.log"
    )


def traceback(
    exception: str = "ValueError",
    message: str = "bad",
    *,
    task: TaskId | None = W0,
    at_s: float = 2.0,
    number: int = 5,
    frames: tuple[str, ...] = ("/home/user/train.py:9 <module>: main()",),
) -> TracebackSeen:
    return TracebackSeen(
        at_s=at_s,
        host="",
        task=task,
        exception=exception,
        message=message,
        frames=frames,
        line=number,
        source=f"{task or 'job'}.log",
    )


def ended(
    task: TaskId | None, *lines: str, at_s: float = 9.0, lines_total: int = 0
) -> tuple[Fact, ...]:
    source = f"{task or 'job'}.log"
    total = lines_total or len(lines)
    return (
        LastWords(at_s=at_s, host="", task=task, lines=lines, source=source),
        OutputEnded(
            at_s=at_s,
            host="",
            task=task,
            stream="err",
            bytes_total=1,
            lines_total=total,
            lines_heard=0,
            source=source,
        ),
    )


def members(*tasks: TaskId) -> AttemptStarted:
    return AttemptStarted(
        at_s=0.0, host="", began_unix_s=0.0, tasks=tuple(map(str, tasks)), holdfast=""
    )


def found(*facts: Fact) -> tuple[Finding, ...]:
    return said(Evidence(facts), CAUSES)


def told(*facts: Fact) -> list[str]:
    return [
        f"{one.name} at {one.proof.culprit or one.proof.place or 'nobody'}"
        + "".join(f" {echo.task}" for echo in one.echoes)
        for one in found(*facts)
    ]


def test_a_proof_comes_before_an_earlier_sign() -> None:
    facts = (line("no such name", W1, 1.0), line("disk is full", W0, 5.0))
    assert told(*facts) == ["proven at worker:0", "signed at worker:1"]


def test_of_two_proofs_the_earlier_comes_first() -> None:
    facts = (line("disk is full", W1, 5.0), line("disk is full", W0, 1.0))
    assert told(*facts) == ["proven at worker:0", "proven at worker:1"]


def test_words_again_and_again_are_one_finding() -> None:
    facts = [line("disk is full", W0, float(n), n) for n in range(1, 40)]
    assert told(*facts) == ["proven at worker:0"]
    assert len(found(*facts)[0].proof.facts) < 10


def test_five_who_miss_one_are_five_edges_to_one_culprit() -> None:
    others = [TaskId("worker", n) for n in (0, 1, 2, 4, 5)]
    facts = [line("lost /job:worker/replica:0/task:3", task, 3.0) for task in others]
    assert told(*facts) == ["peer-gone at worker:3 worker:0 worker:1 worker:2 worker:4 worker:5"]


def test_who_complains_first_of_another_is_not_the_culprit() -> None:
    facts = (
        line("lost /job:worker/task:1", W2, 1.0),
        line("lost /job:worker/task:2", W0, 2.0),
    )
    assert told(*facts) == ["peer-gone at worker:1 worker:2 worker:0"]


def test_the_earliest_accusation_counts_where_all_accuse_each_other() -> None:
    facts = (
        line("lost /job:worker/task:1", W0, 1.0),
        line("lost /job:worker/task:1", W2, 1.1),
        line("lost /job:worker/task:0", W1, 20.0),
    )
    assert told(*facts)[0].startswith("peer-gone at worker:1")


def test_who_misses_a_culprit_is_an_echo_of_its_cause() -> None:
    facts = (line("disk is full", W1, 2.0), line("lost /job:worker/task:1", W0, 2.5))
    assert told(*facts) == ["proven at worker:1 worker:0"]


def test_a_victim_that_names_nobody_echoes_the_first_cause() -> None:
    facts = (line("disk is full", W1, 2.0), line("lost somebody", W0, 2.5))
    assert told(*facts) == ["proven at worker:1 worker:0"]


def test_a_loss_of_nobody_in_particular_is_still_told() -> None:
    (one,) = found(line("lost somebody", None))
    assert one.proof.culprit is None
    assert one.proof.confidence is Confidence.LIKELY
    assert one.proof.says == "the job was lost: lost somebody"


def test_who_finished_its_work_misses_nobody() -> None:
    facts = (line("lost /job:worker/task:1", W0), *ended(W0, "lost", "training finished"))
    assert told(*facts) == []


def test_a_word_of_success_does_not_outweigh_a_traceback() -> None:
    facts = (line("lost /job:worker/task:1", W0), *ended(W0, "training finished", "oh"))
    fallen = traceback("tensorflow.UnavailableError", "gone", number=2)
    assert told(*facts, fallen) == ["peer-gone at worker:1 worker:0"]


def test_those_who_left_in_order_miss_nobody() -> None:
    left = "Python interpreter state is not initialized. The process may be terminated."
    lost = line("lost /job:worker/task:1", W0)
    assert told(lost, *ended(W0, left), *ended(W1, left)) == []
    broken = (lost, *ended(W0, left), *ended(W1, left), traceback("AbortedError", task=W1))
    assert told(*broken)[0] == "peer-gone at worker:1 worker:0"


def test_what_training_got_over_is_a_warning_or_nothing() -> None:
    steps = ended(W0, "x", "y", "step 10 loss 0.3", "step 20 loss 0.2")
    assert told(line("lost /job:worker/task:1", W0, number=1), *steps) == []
    assert told(line("no such name", W0, number=1), *steps) == []
    (proof,) = found(line("disk is full", W0, number=1), *steps)
    assert proof.severity is Severity.ERROR
    two = (line("disk is full", W0, number=1), line("disk is full", W1, 8.0), *steps)
    assert told(*two) == ["proven at worker:1", "proven at worker:0"]


def test_a_cause_yields_to_what_tells_the_same_more_exactly() -> None:
    facts = (line("no such name", W0, number=1), line("disk is full", W0, 2.0, 2))
    assert told(*facts) == ["proven at worker:0"]
    apart = (line("no such name", W1), line("disk is full", W0))
    assert len(told(*apart)) == 2
    unnamed = (line("no such name", None, number=1), line("disk is full", None, 2.0, 2))
    assert told(*unnamed) == ["proven at nobody"]


def test_a_culprit_that_is_no_task_is_a_place() -> None:
    facts = (line("no such name as host-q", None), line("no such name", None, number=2))
    assert told(*facts) == ["signed at host-q"]


def test_a_wait_counts_only_while_it_lasts() -> None:
    wait = line("waits for /job:worker/task:1", W0, number=1)
    again = "waits for /job:worker/task:1"
    assert told(wait, *ended(W0, again, again)) == ["never-started at worker:1 worker:0"]
    assert told(wait, *ended(W0, again, "Running local_init_op.")) == []
    came = "/job:worker/replica:0/task:1 has connected to coordination service. Incarnation: 1"
    assert told(wait, *ended(W0, again, came)) == []


def test_all_who_wait_for_one_are_its_echoes() -> None:
    waits = [line("waits for /job:worker/task:1", task, number=1) for task in (W0, W0, W2)]
    assert told(*waits) == ["never-started at worker:1 worker:0 worker:2"]


def test_who_trains_while_others_wait_for_it_is_not_in_their_cluster() -> None:
    wait = line("waits for /job:worker/task:1", W0, number=1)
    alone = ended(W1, "step 10 loss 1.0")
    one = found(wait, *ended(W0, "waits for /job:worker/task:1"), *alone)[0]
    assert (one.name, one.proof.culprit) == ("spec-without-cluster", W1)


def test_a_final_traceback_is_the_users_own() -> None:
    (one,) = found(traceback())
    assert (one.name, one.proof.culprit) == ("user-exception", W0)
    assert one.proof.says == "worker:0 ended with ValueError: bad, at train.py line 9"
    assert one.proof.do == ("correct the program at train.py line 9",)
    assert one.proof.confidence is Confidence.HIGH


def test_without_a_task_the_line_is_to_blame() -> None:
    inside = "/home/user/venv/lib/python3.11/site-packages/tensorflow/python/ops.py:7 f"
    frames = ("/home/user/train.py:9 <module>: main()", inside)
    (one,) = found(traceback("tensorflow.errors.NotFoundError", "", task=None, frames=frames))
    assert one.proof.place == "train.py line 9"
    assert one.proof.says == "the program ended with NotFoundError, at train.py line 9"
    assert one.proof.confidence is Confidence.LIKELY


def test_a_traceback_without_frames_blames_no_line() -> None:
    (one,) = found(traceback(task=None, frames=()))
    assert one.proof.place == ""
    assert one.proof.do == ("correct the program",)


def test_a_traceback_of_another_process_is_told_as_it_happened_there() -> None:
    message = (
        "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call"
        ' last):\n  File "/home/user/data.py", line 36, in get\n    x["a"]\nKeyError: \'a\''
    )
    (one,) = found(traceback("KeyError", message, task=None))
    assert one.proof.says == "the program ended with KeyError: 'a', at data.py line 36"


def test_of_chained_tracebacks_the_first_is_the_root() -> None:
    facts = (traceback("KeyError", "'x'", number=5), traceback("RuntimeError", "oh", number=12))
    assert "KeyError" in found(*facts)[0].proof.says


def test_a_traceback_long_before_the_end_is_another_story() -> None:
    facts = (traceback("KeyError", number=5), traceback("RuntimeError", number=5000))
    assert "RuntimeError" in found(*facts)[0].proof.says


def test_a_traceback_that_was_survived_is_not_told() -> None:
    steps = ended(W0, "step 10 loss 0.3", "step 20 loss 0.2", lines_total=90)
    assert told(traceback(number=5), *steps) == []


def test_what_a_sibling_goes_on_with_is_not_ones_own_progress() -> None:
    second = TaskId("rank", 2)
    steps = ended(None, "[rank3]: step 10 loss 0.3", "[rank3]: step 20 loss 0.2", lines_total=90)
    fallen = replace(traceback(task=None), task=second)
    assert told(fallen, *steps) == ["user-exception at rank:2"]


def test_a_traceback_that_python_ignored_ends_nobody() -> None:
    ignored = line("Exception ignored in: <function f>", number=4)
    assert told(ignored, traceback(number=5)) == []


def test_a_traceback_with_a_causes_words_is_that_cause() -> None:
    assert told(traceback("OSError", "disk is full")) == ["proven at worker:0"]
    near = (line("disk is full", W0, number=1), traceback(number=5))
    assert told(*near) == ["proven at worker:0"]
    assert told(traceback("OSError", "disk is full", task=None)) == ["proven at train.py line 9"]


def test_a_warning_near_a_mistake_does_not_explain_it() -> None:
    sign = line("no such name", W0, number=1)
    assert told(sign, traceback("OSError"))[0] == "signed at worker:0"
    assert told(sign, traceback("NameError"))[0] == "user-exception at worker:0"
    calm = replace(sign, level="W")
    assert told(calm, traceback("OSError"))[0] == "user-exception at worker:0"
    elsewhere = traceback("OSError", "disk is full", number=2000)
    far = (elsewhere, traceback("KeyError", number=4000), ended(W0, "x")[0])
    assert "user-exception at worker:0" in told(*far)


def test_the_trouble_of_others_is_no_exception_of_ones_own() -> None:
    assert told(traceback("tensorflow.UnavailableError", "gone")) == []
    assert told(traceback("KeyboardInterrupt", "")) == []
    assert told(traceback("RuntimeError", "lost it")) == ["peer-gone at nobody worker:0"]


def test_without_the_cause_nothing_is_said_of_exceptions() -> None:
    evidence = Evidence([traceback()])
    seen = records(evidence.facts)
    assert not list(exceptions(seen, [], LogEnds(evidence), {"proven": PROVEN}))


def test_the_summary_of_a_launcher_names_the_first_to_fail() -> None:
    summary = (
        line("Root Cause (first observed failure):", None, number=50),
        line("  rank      : 3 (local_rank: 3)", None, number=54),
    )
    assert failed_first(Evidence(summary)) == TaskId("rank", 3)
    assert told(traceback(task=None), *summary) == ["user-exception at rank:3"]
    far = replace(summary[1], line=99)
    assert failed_first(Evidence([summary[0], far])) is None
    mpi = line("  Process name: [[56671,1],1]", None)
    assert failed_first(Evidence([mpi])) == TaskId("rank", 1)


def test_a_member_without_a_log_is_missed_where_the_others_have_one() -> None:
    three = (members(W0, W1, W2), *ended(W0, "a"), *ended(W2, "b"))
    assert told(*three) == ["never-started at worker:1"]
    assert told(members(W0, W1, W2), *ended(W0, "a")) == []


def test_a_log_that_stops_while_others_go_on_is_told() -> None:
    behind = (*ended(W0, "step 40 loss 1"), *ended(W1, "step 600 loss 1"))
    assert told(*behind) == ["log-stops at worker:0"]
    silent = (*ended(W0, "step 40 loss 1", at_s=9.0), *ended(W1, "step 41 loss 1", at_s=99.0))
    assert told(*silent) == ["log-stops at worker:0"]
    together = (*ended(W0, "step 40 loss 1"), *ended(W1, "step 41 loss 1"))
    assert told(*together) == []
    over = (*ended(W0, "step 40 loss 1", "training finished"), *ended(W1, "step 600 loss 1"))
    assert told(*over) == []


def test_a_traceback_that_another_task_sent_accuses_nobody() -> None:
    outer = traceback("UnknownError", "Collective ops is aborted by: KeyError: 17")
    inner = replace(traceback("KeyError", "17"), line=9, offset=90)
    assert not list(exceptions([outer, inner], [], LogEnds(Evidence(())), catalogue()))


def test_who_is_quiet_and_never_trained_is_not_the_one_that_left() -> None:
    lost = (line("lost a friend", W0), *ended(W0, "x"), line("lost a friend", W1), *ended(W1, "x"))
    trained = told(*lost, *ended(W2, "step 4 loss 0.5"))
    assert trained == ["ended-early at worker:2 worker:0 worker:1"]
    assert told(*lost, *ended(W2, "hello")) == ["peer-gone at nobody worker:0 worker:1"]
