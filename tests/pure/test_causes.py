"""Every cause fires on its own fixture and stays quiet on its near misses.

A case is a title, some words about where it was cut from, a journal, and what it must yield:

    expect: disk-full at worker:0, echoes worker:1; killed-by-signal at worker:2
    expect: nothing             nobody failed, nobody is accused
    expect: cannot-tell         somebody failed, and nobody is accused

Below it may stand how sure we are, and the sentence itself or its beginning:

    says: certain: worker:0 could not write at /data/ckpt-40
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.diagnose import catalogue, diagnose, page, telling_lines
from holdfast.model.codec import decode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LogLine, UnknownFact
from holdfast.model.families import FAMILIES
from holdfast.model.findings import Diagnosis, Finding, Verdict

FIXTURES = Path(__file__).parent.parent / "causes"
CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!```|## )[^\n]*\n)*```journal\n(?P<journal>.*?)```\n"
    r"expect: (?P<expect>[^\n]+)$(?:\nsays: (?P<says>[^\n]+)$)?",
    re.DOTALL | re.MULTILINE,
)
HEADINGS = [
    "## What you see",
    "## Why it happens",
    "## How to confirm it by hand",
    "## What to do",
    "## When this accusation would be wrong",
]
JOURNAL_LINES_MAX = 25
OF_THIS_MACHINE = re.compile(r"/root/|/home/(?!user/)|pyenv")


class Case(NamedTuple):
    fixture: str
    title: str
    journal: str
    expect: str
    says: str | None


CASES = [
    Case(path.stem, found["title"], found["journal"], found["expect"], found["says"])
    for path in sorted(FIXTURES.glob("*.md"))
    for found in CASE.finditer(path.read_text())
]
each_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.fixture}: {case.title}".replace("/", "_")
)


def reaches_us(fact: Fact) -> bool:
    """Agents ship only lines that some cause listens for; fixtures go the same way."""
    return not isinstance(fact, LogLine) or telling_lines().first(fact.text.encode(), 0) >= 0


def in_words(diagnosis: Diagnosis) -> str:
    if diagnosis.findings:
        return "; ".join(map(_finding, diagnosis.findings))
    return "nothing" if diagnosis.verdict is Verdict.HEALTHY else str(diagnosis.verdict)


def _finding(finding: Finding) -> str:
    echoes = " ".join(sorted(str(echo.task) for echo in finding.echoes))
    culprit = finding.proof.culprit or "nobody"
    return f"{finding.name} at {culprit}" + (f", echoes {echoes}" if echoes else "")


@each_case
def test_diagnosis(case: Case) -> None:
    seen = [decode(line) for line in case.journal.splitlines()]
    diagnosis = diagnose(Evidence(filter(reaches_us, seen)))
    assert in_words(diagnosis) == case.expect
    assert not diagnosis.broken
    if case.says:
        proof = diagnosis.findings[0].proof
        assert f"{proof.confidence}: {proof.says}".startswith(case.says)


@each_case
def test_a_finding_says_what_to_do(case: Case) -> None:
    """One sentence, at least one thing to do, and facts that prove it."""
    seen = [decode(line) for line in case.journal.splitlines()]
    for finding in diagnose(Evidence(seen)).findings:
        proof = finding.proof
        assert proof.facts
        assert "\n" not in proof.says
        assert proof.do
        assert all(step.strip() and "None" not in step for step in proof.do)
        assert proof.exit_code > 0


@each_case
def test_a_case_can_be_read(case: Case) -> None:
    lines = case.journal.splitlines()
    assert len(lines) <= JOURNAL_LINES_MAX
    assert not OF_THIS_MACHINE.search(case.journal)
    facts = [decode(line) for line in lines]
    assert {fact.host for fact in facts} <= {"host-a", "host-b", "host-c"}
    assert not any(isinstance(fact, UnknownFact) for fact in facts)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.md")), ids=lambda path: path.stem)
def test_every_case_in_a_fixture_is_run(path: Path) -> None:
    text = path.read_text()
    cases = sum(case.fixture == path.stem for case in CASES)
    assert cases == text.count("\n## ") == text.count("```journal")
    assert path.stem in catalogue()


@pytest.mark.parametrize("name", catalogue())
def test_every_cause_has_a_hit_and_a_near_miss(name: str) -> None:
    fires = {f"{name} at " in case.expect for case in CASES if case.fixture == name}
    assert fires == {True, False}


@pytest.mark.parametrize("name", catalogue())
def test_every_cause_has_a_page_and_a_family(name: str) -> None:
    text = page(name)
    assert [line for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    assert text.partition("\n")[0].endswith("."), "the first line is one sentence"
    for section in text.split("\n## ")[1:]:
        assert section.partition("\n")[2].strip(), "every heading has something under it"
    assert catalogue()[name].family in FAMILIES


@pytest.mark.parametrize("name", catalogue())
def test_a_cause_yields_only_to_causes_that_exist(name: str) -> None:
    assert catalogue().keys() >= catalogue()[name].yields_to
    assert name not in catalogue()[name].yields_to
