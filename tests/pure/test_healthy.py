"""Nobody is accused in a run where nothing failed, whatever its tasks say on their way out."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.codec import decode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded, Fact, LogLine
from holdfast.model.finding_facts import FindingTold
from holdfast.model.findings import Finding, Severity, Verdict
from holdfast.recover import conclude

FOLDER = Path(__file__).parent.parent / "healthy"
JOURNALS = sorted(FOLDER.glob("*.jsonl"))
# Recorded while other programs used all cores, of which may be warned.
LOADED = frozenset(
    {
        *("mirrored_ctrl_c", "mirrored_evaluation", "mirrored_loaded", "mirrored_long_farewell"),
        "parameter_server_loaded",
    }
)
# In which somebody kept others waiting, or took long to leave: a notice that is taken back.
TOLD_OF = frozenset(
    {
        *("mirrored_evaluation", "mirrored_loaded", "mirrored_long_farewell"),
        "parameter_server_loaded",
    }
)
each_journal = pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)


def read(path: Path) -> list[Fact]:
    return [decode(line) for line in path.read_text().splitlines()]


def accused(path: Path, findings: Sequence[Finding]) -> list[str]:
    """Whatever is said beyond what this journal was made for."""
    allowed = {Severity.NOTICE} if path.stem in TOLD_OF else set()
    load = {"cpu-starved"} if path.stem in LOADED else set()
    return [
        f"{finding.severity} {finding.name} at {finding.proof.culprit}: {finding.proof.says}"
        for finding in findings
        if finding.name not in load and finding.severity not in allowed
    ]


@each_journal
def test_no_cause_speaks_of_a_healthy_run(path: Path) -> None:
    """Nor is a notice left of it; that its host was loaded may be said to the end."""
    evidence = Evidence(read(path))
    diagnosis = diagnose(evidence)
    assert diagnosis.verdict is Verdict.HEALTHY
    starved = {finding.proof.culprit for finding in diagnosis.findings}
    assert {finding.name for finding in diagnosis.findings} <= {"cpu-starved"}
    assert accused(path, diagnosis.findings) == []
    assert diagnosis.unknown == ()
    assert diagnosis.broken == {}
    assert {*diagnosis.healthy} == {*evidence.tasks} - starved


@each_journal
def test_nor_while_it_goes_on(path: Path) -> None:
    """A supervisor judges in the middle too: at no moment is anybody accused or warned of."""
    facts = read(path)
    for end in range(1, len(facts) + 1):
        diagnosis = diagnose(Evidence(facts[:end]))
        assert accused(path, diagnosis.findings) == []
        calm = not any(finding.cause.general for finding in diagnosis.findings)
        assert diagnosis.verdict is (Verdict.HEALTHY if calm else Verdict.CANNOT_TELL)


@pytest.mark.parametrize("stem", sorted(TOLD_OF))
def test_a_long_pause_is_told_as_a_notice_meanwhile(stem: str) -> None:
    """Else the journals that were made for it would prove nothing."""
    facts = read(FOLDER / f"{stem}.jsonl")
    told = [fact for fact in facts if isinstance(fact, FindingTold) and fact.severity == "notice"]
    for fact in told:
        then = diagnose(Evidence(facts[: facts.index(fact)]))
        assert fact.cause in {one.name for one in then.findings}
    assert told


@each_journal
def test_the_exit_code_is_the_one_that_was_given(path: Path) -> None:
    facts = read(path)
    *_, ended = (fact for fact in facts if isinstance(fact, AttemptEnded))
    evidence = Evidence(fact for fact in facts if fact is not ended)
    assert conclude(evidence, diagnose(evidence)).exit_code == ended.exit_code


def test_one_of_them_has_a_false_alarm() -> None:
    """TensorFlow cries at the end of good runs: without such a journal this file proves little."""
    said = [fact.text for path in JOURNALS for fact in read(path) if isinstance(fact, LogLine)]
    assert any("Failed to send RPC to coordination service" in text for text in said)
