"""Every cause fires on its own fixture and stays quiet on its near misses.

A case is a title, some words about where it was cut from, a journal or some logs, and what it
must yield:

    expect: disk-full at worker:0, echoes worker:1; killed-by-signal at worker:2
    expect: oom-accelerator at "GPU 0"      to blame is no task
    expect: nothing             nobody failed, nobody is accused
    expect: cannot-tell         somebody failed, and nobody is accused
    expect: notice keeps-waiting at worker:2      it is told as no more than that
    expect: error keeps-waiting at worker:2       graver than this cause usually is

Below it may stand how sure we are, and the sentence itself or its beginning:

    says: certain: worker:0 could not write at /data/ckpt-40

Logs stand as they are in a block named log; a line `=== worker-1.err` begins the next file.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.diagnose import catalogue, diagnose, page, telling_lines, words_to_hear
from holdfast.model.codec import decode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LogLine, UnknownFact
from holdfast.model.families import FAMILIES
from holdfast.model.findings import Diagnosis, Finding, Severity, Verdict
from holdfast.model.hearing import hear_text, settle
from holdfast.model.pattern import AnyOf
from holdfast.model.words import UNFINISHED

FIXTURES = Path(__file__).parent.parent / "causes"
CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!```|## )[^\n]*\n)*```(?P<kind>journal|log)\n(?P<text>.*?)```\n"
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
CASE_LINES_MAX = 25
# Besides those that are seen in running tasks: what rests on time, on silence, or on no answer.
REST_ON_TIME = frozenset(
    {
        *("agent-lost", "collective-timeout", "connection-reset", "deadline-exceeded"),
        *("ended-early", "filtered", "host-lost", "lossy-path", "name-not-resolved"),
        *("never-started", "not-tensorflow", "partition", "peer-gone", "refused", "restarted"),
        *("slow-path", "stalled-at-start", "wrong-port", "wrong-task-answers"),
    }
)
# What else is told of a task that stands still, and of nobody that gets on.
OF_STILLNESS = frozenset(
    {
        *("ended-early", "input-starved", "livelock", "never-started", "stalled-at-start"),
        *("stopped", "straggler", "stuck-on-storage", "user-deadlock"),
    }
)
NEXT_FILE = re.compile(r"^=== (\S+)\n", re.MULTILINE)
OF_THIS_MACHINE = re.compile(r"/root/|/home/(?!user/)|pyenv")


class Case(NamedTuple):
    fixture: str
    title: str
    kind: str
    text: str
    expect: str
    says: str | None


CASES = [
    Case(path.stem, *found.group("title", "kind", "text", "expect", "says"))
    for path in sorted(FIXTURES.glob("*.md"))
    for found in CASE.finditer(path.read_text())
]
each_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.fixture}: {case.title}".replace("/", "_")
)


def reaches_us(fact: Fact) -> bool:
    """Agents ship only lines that some cause listens for; fixtures go the same way."""
    return not isinstance(fact, LogLine) or telling_lines().first(fact.text.encode(), 0) >= 0


@cache
def telling() -> AnyOf:
    """Of logs that somebody hands us, only such lines are read."""
    return AnyOf(words_to_hear())


def files_in(text: str) -> list[tuple[str, bytes]]:
    first, *parts = NEXT_FILE.split(text)
    named = list(zip(parts[::2], parts[1::2], strict=True))
    if first:
        named.insert(0, ("job.log", first))
    return [(name, log.encode()) for name, log in named]


def facts_of(case: Case) -> list[Fact]:
    if case.kind == "journal":
        return [decode(line) for line in case.text.splitlines()]
    return settle([hear_text(name, log, telling()) for name, log in files_in(case.text)])


def in_words(diagnosis: Diagnosis) -> str:
    if diagnosis.findings:
        return "; ".join(map(_finding, diagnosis.findings))
    # A few lines rarely hold the proof of an end: that nothing else is missing is what counts.
    unended = diagnosis.unknown and diagnosis.unknown[0].startswith(UNFINISHED)
    return "nothing" if diagnosis.verdict is Verdict.HEALTHY or unended else str(diagnosis.verdict)


def _finding(finding: Finding) -> str:
    echoes = " ".join(sorted(str(echo.task) for echo in finding.echoes))
    place = f'"{finding.proof.place}"' if finding.proof.place else "nobody"
    culprit = finding.proof.culprit or place
    return f"{_level(finding)}{finding.name} at {culprit}" + (
        f", echoes {echoes}" if echoes else ""
    )


def _level(finding: Finding) -> str:
    """Named where it is a notice, or another one than the cause usually has."""
    usual = finding.severity is finding.cause.severity and finding.severity is not Severity.NOTICE
    return "" if usual else f"{finding.severity} "


@each_case
def test_diagnosis(case: Case) -> None:
    seen = facts_of(case)
    reached = filter(reaches_us, seen) if case.kind == "journal" else seen
    diagnosis = diagnose(Evidence(reached))
    assert in_words(diagnosis) == case.expect
    assert not diagnosis.broken
    if case.says:
        proof = diagnosis.findings[0].proof
        assert f"{proof.confidence}: {proof.says}".startswith(case.says)


@each_case
def test_a_finding_says_what_to_do(case: Case) -> None:
    """One sentence, at least one thing to do, and facts that prove it."""
    for finding in diagnose(Evidence(facts_of(case))).findings:
        proof = finding.proof
        assert proof.facts
        assert "\n" not in proof.says
        assert proof.do
        assert all(step.strip() and "None" not in step for step in proof.do)
        assert proof.exit_code > 0


@each_case
def test_a_case_can_be_read(case: Case) -> None:
    assert len(case.text.splitlines()) <= CASE_LINES_MAX
    assert not OF_THIS_MACHINE.search(case.text)
    if case.kind == "log":
        return
    facts = facts_of(case)
    assert {fact.host for fact in facts} <= {"host-a", "host-b", "host-c"}
    assert not any(isinstance(fact, UnknownFact) for fact in facts)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.md")), ids=lambda path: path.stem)
def test_every_case_in_a_fixture_is_run(path: Path) -> None:
    text = path.read_text()
    cases = sum(case.fixture == path.stem for case in CASES)
    blocks = text.count("```journal\n") + text.count("```log\n")
    assert cases == text.count("\n## ") == blocks
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


@pytest.mark.parametrize(
    "name", sorted(REST_ON_TIME | {name for name, cause in catalogue().items() if cause.live})
)
def test_a_cause_that_rests_on_time_says_why_load_cannot_trigger_it(name: str) -> None:
    assert "starved" in page(name).partition(HEADINGS[-1])[2]


@pytest.mark.parametrize("name", sorted(OF_STILLNESS))
def test_a_cause_of_stillness_says_what_it_knows_more_than_the_graph(name: str) -> None:
    assert "What it knows more than `keeps-waiting`: " in page(name)


@pytest.mark.parametrize("name", catalogue())
def test_a_cause_yields_only_to_causes_that_exist(name: str) -> None:
    assert catalogue().keys() >= catalogue()[name].yields_to
    assert name not in catalogue()[name].yields_to
