"""Whether a job saved before it ended, in the report, on the terminal and as a page."""

from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, StopAsked
from holdfast.model.recovery_facts import CheckpointSaved
from holdfast.views.html import report_html
from holdfast.views.recovery_lines import recovery_line
from holdfast.views.stop_story import with_stop
from holdfast.views.text import report_text

BEGAN = AttemptStarted(
    at_s=0.0, host="host-a", began_unix_s=1794765736.0, tasks=("worker:1",), holdfast="1"
)
ASKED = StopAsked(at_s=20.0, host="host-a", by="SIGTERM", signal=15)
SAVED = CheckpointSaved(
    at_s=25.0, host="host-a", asked_s=20.0, path="/d/ckpt-40", step=40, written_s=22.5
)
EMPTY: dict[str, Any] = {
    "schema": "holdfast.report/1",
    "verdict": "healthy",
    **dict.fromkeys(("findings", "healthy", "unknown", "timeline"), ()),
    **{key: {} for key in ("broken", "last_words", "logs")},
}


@pytest.mark.parametrize(
    ("saved", "checkpoint", "step", "says"),
    [
        (SAVED, "/d/ckpt-40", 40, "/d/ckpt-40 was written 2.5 s after the end was asked for"),
        (replace(SAVED, step=-1, reached_step=41), "/d/ckpt-40", 41, "/d/ckpt-40 was written"),
        (replace(SAVED, step=-1), "/d/ckpt-40", None, "/d/ckpt-40 was written"),
        (replace(SAVED, path="", step=-1), None, None, "no checkpoint was written after"),
    ],
)
def test_a_report_says_what_was_saved(
    saved: CheckpointSaved, checkpoint: str | None, step: int | None, says: str
) -> None:
    stopped = with_stop(EMPTY, Evidence([BEGAN, ASKED, saved]))["stopped"]
    assert (stopped["by"], stopped["at"]) == ("SIGTERM", "2026-11-15T18:02:36.000Z")
    assert (stopped["checkpoint"], stopped["step"]) == (checkpoint, step)
    assert stopped["says"].startswith(says)
    assert recovery_line(saved) == f"end: {stopped['says']}"


def test_where_nobody_asked_or_looked_the_report_is_as_it_was() -> None:
    for facts in ([BEGAN], [BEGAN, ASKED], [BEGAN, SAVED]):
        assert with_stop(EMPTY, Evidence(facts)) == EMPTY


def test_a_person_reads_it_before_the_verdict() -> None:
    evil = replace(SAVED, path="/d/<script>/ckpt-40")
    shown = with_stop(EMPTY, Evidence([BEGAN, ASKED, evil]))
    text = report_text(shown, width=100, colour=False, zone=UTC)
    assert text.startswith("stopped by SIGTERM: /d/<script>/ckpt-40 was written 2.5 s after")
    page = report_html(shown)
    assert "<h2>Stopped by SIGTERM</h2>" in page
    assert "<script>" not in page
