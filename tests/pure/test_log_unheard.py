"""Who left no log is named where the others' words blame one that is there and suffers itself."""

from dataclasses import replace

from holdfast.diagnose import catalogue
from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_unheard import unheard_instead
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LogLine, OutputEnded, SpecRead
from holdfast.model.findings import Confidence

W0, W1, W2, W3 = (TaskId("worker", index) for index in range(4))


def ended(task: TaskId, lines: int = 9) -> OutputEnded:
    return OutputEnded(
        at_s=9,
        host="",
        task=task,
        stream="err",
        bytes_total=9,
        lines_total=lines,
        lines_heard=0,
        lines_left_out=0,
        source="",
    )


def definition(workers: int) -> SpecRead:
    addresses = {str(index): f"host-{index}:2222" for index in range(workers)}
    cluster = {"worker": addresses, "evaluator": {"0": "host-9:2222"}}
    return SpecRead(
        at_s=0, host="", source="worker-0.out", cluster=cluster, role="worker", index="0"
    )


def lost(speaker: TaskId, peer: TaskId, name: str = "peer-gone") -> Claim:
    text = f"Socket closed, remote target /job:worker/replica:0/task:{peer.index}"
    return Claim(
        name=name,
        cause=catalogue()[name],
        weight=10,
        confidence=Confidence.LIKELY,
        culprit=peer,
        place="",
        facts=(LogLine(at_s=5, host="", task=speaker, text=text, line=1),),
        says=f"{peer} was lost",
        symptom=True,
    )


ROOT = lost(W0, W2)
EACH_OTHER = (ROOT, lost(W2, W0))


def instead(*facts: Fact, root: Claim = ROOT, claims: tuple[Claim, ...] = EACH_OTHER) -> Claim:
    return unheard_instead(root, claims, Evidence((ended(W0), ended(W2), *facts)))


def test_two_that_blame_each_other_have_lost_the_third() -> None:
    named = instead(definition(3))
    assert (named.culprit, named.confidence) == (W1, Confidence.LIKELY)
    assert named.says == (
        "worker:1 left no log, while others wait for it or have lost it: it was not started,"
        " has died, or its log is elsewhere; worker:2 is named, too, and is there"
    )


def test_an_empty_log_is_none() -> None:
    assert instead(definition(3), ended(W1, lines=0)).culprit == W1


def test_who_is_blamed_and_suffers_from_nobody_stays_blamed() -> None:
    assert instead(definition(3), claims=(ROOT,)) is ROOT


def test_who_is_blamed_and_left_no_log_stays_blamed() -> None:
    about = lost(W0, W1)
    assert instead(definition(3), root=about) is about


def test_nobody_is_named_where_several_left_no_log_or_nobody_knows_the_members() -> None:
    assert instead(definition(4)) is ROOT
    assert instead() is ROOT
    assert instead(definition(3), ended(W1)) is ROOT


def test_whom_the_words_name_beside_it_counts_first() -> None:
    text = "Example stragglers: /job:worker/replica:0/task:0 /job:worker/replica:0/task:3"
    line = LogLine(at_s=5, host="", task=W0, text=text, line=1)
    waits = replace(lost(W0, W0, "never-started"), facts=(line,), symptom=False)
    assert instead(definition(4), root=waits, claims=(waits,)).culprit == W3


def test_other_causes_mean_whom_they_name() -> None:
    refused = lost(W0, W2, "refused")
    assert instead(definition(3), root=refused) is refused
