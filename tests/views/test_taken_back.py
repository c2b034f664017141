"""What was told and did not stay true is said, in every view, and shortly."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, StopAsked, TaskStarted
from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.findings import Cause, Diagnosis, Echo, Finding, Proof, Severity, Verdict
from holdfast.model.remedies import AskHuman
from holdfast.views.finding_lines import taken_back_lines, told_lines
from holdfast.views.github import report_github
from holdfast.views.html import report_html
from holdfast.views.junit import report_junit
from holdfast.views.markdown import report_markdown
from holdfast.views.report import report
from holdfast.views.sanitise import cells
from holdfast.views.sarif import report_sarif
from holdfast.views.taken_back import SHOWN_MAX, TAKEN_BACK_MAX, as_of_now, lasted_text
from holdfast.views.text import report_text

W0, W1, W2 = (TaskId("worker", index) for index in range(3))
START = AttemptStarted(
    at_s=0.0,
    host="a",
    began_unix_s=1794765736.0,  # 2026-11-15 18:02:16 UTC
    tasks=("worker:0", "worker:1", "worker:2"),
    holdfast="0.1.0",
)
PAUSE = FindingTakenBack(
    at_s=40.0,
    host="a",
    task=W0,
    cause="keeps-waiting",
    severity="notice",
    says="worker:1 waits for worker:0 since 6 s: it is in evaluate (train.py:88), computing",
    why="it goes on (step 120)",
    held_s=14.2,
)
ERROR = replace(
    PAUSE, cause="livelock", severity="error", says="worker:0 is in an endless loop", held_s=185.0
)
EVERYBODY = (W0, W1, W2)


def made(
    *taken_back: FindingTakenBack, verdict: Verdict = Verdict.HEALTHY, **more: Any
) -> dict[str, Any]:
    told: dict[str, Any] = {"healthy": EVERYBODY, **more}
    facts = told.pop("facts", [])
    diagnosis = Diagnosis(verdict=verdict, taken_back=taken_back, broken={}, **told)
    return report(diagnosis, Evidence([START, *facts]), log_name=lambda *_: "x")


def text(shown: dict[str, Any], width: int = 160) -> str:
    return report_text(shown, width=width, colour=False, zone=UTC)


def stood_still(severity: Severity, *, stopped: bool) -> dict[str, Any]:
    started = TaskStarted(at_s=1.0, host="a", task=W0, pid=1)
    found = Finding(
        name="keeps-waiting",
        cause=Cause(family="deadlock", remedy=AskHuman(), severity=severity),
        proof=Proof(
            facts=(started,), says="worker:1 waits for worker:0: it sleeps (t.py:8)", culprit=W0
        ),
        echoes=(Echo(task=W1, cause="waits", says="waits for worker:0", since_s=2.0),),
    )
    stop = [StopAsked(at_s=9.0, host="a", by="Ctrl-C", signal=2)] if stopped else []
    return made(verdict=Verdict.CANNOT_TELL, findings=(found,), healthy=(), facts=[started, *stop])


def test_the_report_says_who_was_accused_until_when_and_why_no_longer() -> None:
    (one,) = made(ERROR)["taken_back"]
    assert one == {
        "cause": "livelock",
        "culprit": "worker:0",
        "severity": "error",
        "says": "worker:0 is in an endless loop",
        "why": "it goes on (step 120)",
        "since": "2026-11-15T17:59:51.000Z",
        "until": "2026-11-15T18:02:56.000Z",
        "held_s": 185.0,
    }


def test_the_report_is_bounded_and_keeps_the_gravest() -> None:
    many = [replace(PAUSE, at_s=float(number)) for number in range(TAKEN_BACK_MAX + 50)]
    shown = made(*many, ERROR)
    assert len(shown["taken_back"]) == TAKEN_BACK_MAX
    assert shown["taken_back_more"] == 51
    assert [one["cause"] for one in shown["taken_back"]].count("livelock") == 1
    assert "150 pauses were noticed and ended by themselves" in text(shown)


def test_a_healthy_run_with_pauses_stays_short() -> None:
    shown = made(PAUSE, replace(PAUSE, held_s=31.0, at_s=90.0), PAUSE)
    assert text(shown, 200) == (
        "3 pauses were noticed and ended by themselves, the longest 31 s after it was"
        " told: worker:1 waits for worker:0: it is in evaluate (train.py:88), computing\n\n"
        "healthy: nothing wrong was found; all is well with worker:0-2\n"
    )


def test_a_run_without_any_says_nothing_of_it() -> None:
    assert text(made()) == "healthy: nothing wrong was found; all is well with worker:0-2\n"
    assert "No longer true" not in report_html(made()) + report_markdown(made())


def test_an_error_that_was_taken_back_is_told_with_what_was_said() -> None:
    shown = made(ERROR)
    line = "error taken back after 3 min 5 s: livelock of worker:0: it goes on (step 120)"
    assert text(shown).startswith(
        f"{line}\n   = told     worker:0 is in an endless loop\n\nhealthy: "
    )
    assert line in report_html(shown)
    assert f"- {line} (told: worker:0 is in an endless loop)" in report_markdown(shown)


def test_of_many_accusations_the_rest_is_counted() -> None:
    shown = made(*[ERROR] * (SHOWN_MAX + 3))
    for view in (text(shown), report_html(shown), report_markdown(shown)):
        assert view.count("error taken back") == SHOWN_MAX
        assert "… and 3 more in report.json" in view


def test_one_pause_is_one_and_other_notices_are_no_pauses() -> None:
    assert "1 pause was noticed and ended by itself, 14 s after" in text(made(PAUSE))
    other = replace(PAUSE, cause="slow-start")
    assert "2 notices were told and taken back, the longest 14 s" in text(made(PAUSE, other))


@pytest.mark.parametrize("width", [60, 160])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    shown = text(made(PAUSE, ERROR, PAUSE), width=width)
    assert all(cells(row) <= width for row in shown.splitlines())


@pytest.mark.parametrize("severity", [Severity.NOTICE, Severity.WARNING])
def test_a_job_that_was_stopped_while_it_stood_still_is_not_well(severity: Severity) -> None:
    shown = stood_still(severity, stopped=True)
    says = "the job was stopped by Ctrl-C while it stood still; nothing proves a cause"
    assert f"\ncannot tell: {says}\n" in text(shown)
    assert "healthy  no task is known to be well" in text(shown)
    assert "all is well" not in text(shown)
    for view in (report_html(shown), report_markdown(shown)):
        assert f"T{says[1:]}." in view
        assert "Nothing wrong was found" not in view


def test_without_a_stop_it_stood_still_when_last_seen() -> None:
    shown = stood_still(Severity.NOTICE, stopped=False)
    assert "cannot tell: the job stood still when last seen; nothing proves a cause" in text(shown)


def test_a_notice_has_its_word_and_accuses_nobody() -> None:
    shown = stood_still(Severity.NOTICE, stopped=True)
    assert text(shown).startswith("notice[keeps-waiting]: worker:1 waits for worker:0")
    assert "= waiting  worker:1\n" in text(shown)
    assert "victims" not in text(shown)
    coloured = report_text(shown, width=80, colour=True, zone=UTC)
    assert coloured.startswith("\x1b[1;36mnotice[keeps-waiting]\x1b[0m")
    assert 'class="pill notice">notice<' in report_html(shown)
    assert report_markdown(shown).startswith("### 🔔 keeps-waiting at `worker:0`")
    assert "**Waiting:** `worker:1`" in report_markdown(shown)


def test_a_notice_is_no_failure_for_machines() -> None:
    shown = stood_still(Severity.NOTICE, stopped=True)
    shown["findings"][0]["cause"] = "straggler"  # one that has a page
    assert "<failure" not in report_junit(shown)
    assert "notice[straggler]" in report_junit(shown)
    assert '"level": "note"' in report_sarif(shown)
    assert report_github(shown).startswith("::notice ")


@pytest.mark.parametrize(
    ("severity", "lines"),
    [
        ("notice", ["taken back after 14 s: keeps-waiting of worker:0: it goes on (step 120)"]),
        (
            "warning",
            ["warning taken back after 14 s: keeps-waiting of worker:0: it goes on (step 120)"],
        ),
        (
            "error",
            [
                "error taken back after 14 s: keeps-waiting of worker:0: it goes on (step 120)",
                f"   = told     {PAUSE.says}",
            ],
        ),
    ],
)
def test_the_live_view_takes_back_in_one_line(severity: str, lines: list[str]) -> None:
    assert list(taken_back_lines(replace(PAUSE, severity=severity))) == lines


def test_what_nobody_did_is_taken_back_without_a_name() -> None:
    (line,) = taken_back_lines(replace(PAUSE, task=None, cause="disk-nearly-full"))
    assert line == "taken back after 14 s: disk-nearly-full: it goes on (step 120)"


def test_a_notice_is_told_in_one_line_and_a_warning_with_its_fixes() -> None:
    found = {
        "cause": "keeps-waiting",
        "confidence": "certain",
        "culprit": "worker:0",
        "host": "",
        "since": None,
        "says": "worker:0 sleeps",
        "do": ["wake it"],
        "echoes": [],
    }
    assert list(told_lines([{**found, "severity": "notice"}])) == ["notice: worker:0 sleeps"]
    assert list(told_lines([{**found, "severity": "warning"}])) == [
        "warning[keeps-waiting]: worker:0 sleeps",
        "   = fix      wake it",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (14.2, "14 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (7200, "2 h"),
        (7800, "2 h 10 min"),
    ],
)
def test_a_duration_reads_as_one_says_it(seconds: float, said: str) -> None:
    assert lasted_text(seconds) == said


def test_how_long_it_lasts_grows_while_it_is_shown() -> None:
    assert as_of_now("x waits since 6 s: y", age_s=60.0) == "x waits since 1 min 6 s: y"
    assert as_of_now("x waits", age_s=60.0) == "x waits"


def test_strangers_words_stay_words(from_logs: Callable[..., dict[str, Any]]) -> None:
    evil = replace(ERROR, says="</li><script>x", why="<b>\x1b[2J | `x`")
    shown = made(evil)
    assert "<script" not in report_html(shown)
    assert "<b>" not in report_markdown(shown)
    assert "\x1b" not in text(shown)
