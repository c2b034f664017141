"""What a job that was asked to end had saved by then, in its report and as a person reads it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from holdfast.model.evidence import Evidence
from holdfast.model.facts import StopAsked
from holdfast.model.recovery_facts import CheckpointSaved
from holdfast.views.page import BLUE, Page
from holdfast.views.recovery_fact_text import SAY_RECOVERY
from holdfast.views.report import fit

Report = dict[str, Any]


def with_stop(report: Report, evidence: Evidence) -> Report:
    """The same report; where the checkpoints of a job are known, with what it saved at its end."""
    asked = next(evidence.of(StopAsked), None)
    saved = next(evidence.of(CheckpointSaved), None)
    if asked is None or saved is None:
        return report
    at = datetime.fromtimestamp(evidence.began_unix_s() + asked.at_s, UTC)
    step = saved.step if saved.step >= 0 else saved.reached_step
    stopped = {
        "by": fit(asked.by),
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "checkpoint": fit(saved.path) or None,
        "step": step if saved.path and step >= 0 else None,
        "says": fit(SAY_RECOVERY[CheckpointSaved](saved)),
    }
    return {**report, "stopped": stopped}


def stop_rows(page: Page, report: Report) -> Iterator[str]:
    """Who asked for the end, and whether the training was saved after that."""
    if stopped := report.get("stopped"):
        yield from page.headline(f"stopped by {stopped['by']}", stopped["says"], BLUE)
