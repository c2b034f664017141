"""Nobody is accused in a run where nothing failed, whatever its tasks say on their way out."""

from pathlib import Path

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.codec import decode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded, Fact, LogLine
from holdfast.model.findings import Verdict
from holdfast.recover import conclude

JOURNALS = sorted((Path(__file__).parent.parent / "healthy").glob("*.jsonl"))
each_journal = pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)


def read(path: Path) -> list[Fact]:
    return [decode(line) for line in path.read_text().splitlines()]


@each_journal
def test_no_cause_speaks_of_a_healthy_run(path: Path) -> None:
    evidence = Evidence(read(path))
    diagnosis = diagnose(evidence)
    assert diagnosis.verdict is Verdict.HEALTHY
    assert diagnosis.findings == ()
    assert diagnosis.unknown == ()
    assert diagnosis.broken == {}
    assert diagnosis.healthy == evidence.tasks


@each_journal
def test_nor_while_it_goes_on(path: Path) -> None:
    """A supervisor judges in the middle too: every beginning of a healthy run is healthy."""
    facts = read(path)
    for end in range(1, len(facts) + 1):
        diagnosis = diagnose(Evidence(facts[:end]))
        assert diagnosis.findings == ()
        assert diagnosis.verdict is Verdict.HEALTHY


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
