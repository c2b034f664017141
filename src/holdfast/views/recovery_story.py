"""What was done about the failures of a run, in its report and as a person reads it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.model.facts import Fact
from holdfast.recover.account import Recovery, began_unix_s, recoveries
from holdfast.recover.decision import decision_in
from holdfast.views.page import BLUE, Page
from holdfast.views.recovery_fact_text import SAY_RECOVERY
from holdfast.views.report import fit

RECOVERIES_MAX: Final = 1_000
Report = dict[str, Any]


def with_recovery(report: Report, facts: Iterable[Fact]) -> Report:
    """The same report; where something was decided about failures, with all of that."""
    known = tuple(facts)
    began_s = began_unix_s(known)
    told = [_shown(one, began_s.get(one.decided.attempt, 0.0)) for one in recoveries(known)]
    return {**report, "recovery": told[-RECOVERIES_MAX:]} if told else report


def _shown(one: Recovery, began_s: float) -> Report:
    decided = one.decided
    at = datetime.fromtimestamp(began_s + decided.at_s, UTC).isoformat(timespec="milliseconds")
    does, _, _ = decision_in(decided).in_words().partition(":")
    return {
        "attempt": decided.attempt,
        "at": at.replace("+00:00", "Z") if began_s else None,
        "cause": decided.cause or None,
        "culprit": str(decided.culprit) if decided.culprit else None,
        "step": decided.step if decided.step >= 0 else None,
        "did": fit(does),
        "done": not decided.dry_run,
        "why": fit(decided.reason),
        "checkpoint": fit(SAY_RECOVERY[type(one.chosen)](one.chosen)) if one.chosen else None,
        "seconds": one.seconds,
    }


def recovery_rows(page: Page, report: Report) -> Iterator[str]:
    """What failed, what was done about it, from what the job went on, and how long that took."""
    for one in report.get("recovery", []):
        yield from page.headline(f"attempt {one['attempt']}", one["why"], BLUE)
        yield from page.notes("did" if one["done"] else "not done", one["did"])
        if one["checkpoint"]:
            yield from page.notes("begins", one["checkpoint"].removeprefix("begins "))
        if one["seconds"]:
            took = " · ".join(f"{name} {value:.1f} s" for name, value in one["seconds"].items())
            yield from page.notes("took", took)
