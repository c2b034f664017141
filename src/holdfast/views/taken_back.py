"""What was told while a job ran and no longer held: in its report, and as a person reads it."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.pattern import Pattern

TAKEN_BACK_MAX: Final = 100
SHOWN_MAX: Final = 10  # errors and warnings that are told one by one
_SINCE: Final = Pattern(r" (since|for) (\d+(?:\.\d+)?) s\b")
_GRAVITY: Final = {"error": 0, "warning": 1, "notice": 2}
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600

Shown = dict[str, Any]


def taken_back_shown(
    facts: Sequence[FindingTakenBack],
    *,
    fit: Callable[[str], str],
    clock: Callable[[float], str | None],
) -> Shown:
    """For report.json: the gravest, in the order of time, and how many more there were."""
    gravest = sorted(facts, key=lambda fact: (_GRAVITY.get(fact.severity, 2), -fact.held_s))
    kept = sorted(gravest[:TAKEN_BACK_MAX], key=lambda fact: fact.at_s)
    told = [
        {
            "cause": fact.cause,
            "culprit": None if fact.task is None else str(fact.task),
            "severity": fact.severity,
            "says": fit(fact.says),
            "why": fit(fact.why),
            "since": clock(fact.at_s - fact.held_s),
            "until": clock(fact.at_s),
            "held_s": round(fact.held_s, 3),
        }
        for fact in kept
    ]
    return {"taken_back": told, "taken_back_more": len(facts) - len(kept)}


def accusations_taken_back(report: Shown) -> tuple[list[Shown], str]:
    """Errors and warnings that no longer hold, and how many there are beyond those shown.

    Somebody was accused, so each is told; the rest is in the report.
    """
    told = [one for one in report.get("taken_back", []) if one["severity"] != "notice"]
    left = len(told) - SHOWN_MAX
    return told[:SHOWN_MAX], f"… and {left} more in report.json" if left > 0 else ""


def taken_back_label(severity: str, *, held_s: float) -> str:
    """A notice accused nobody, so nothing is said of how grave it was."""
    accused = "" if severity == "notice" else f"{severity} "
    return f"{accused}taken back after {lasted_text(held_s)}"


def taken_back_sentence(cause: str, culprit: object, why: str) -> str:
    """`livelock of worker:0: it goes on (step 120)`."""
    of = f" of {culprit}" if culprit else ""
    return f"{cause}{of}: {why.rstrip('.')}"


def taken_back_line(one: Shown) -> str:
    label = taken_back_label(one["severity"], held_s=one["held_s"])
    return f"{label}: {taken_back_sentence(one['cause'], one['culprit'], one['why'])}"


def pauses_sentence(report: Shown) -> str:
    """All notices that ended by themselves, in one sentence; empty if there was none."""
    notices = [one for one in report.get("taken_back", []) if one["severity"] == "notice"]
    if not notices:
        return ""
    count = len(notices) + report.get("taken_back_more", 0)
    longest = max(notices, key=lambda one: one["held_s"])
    after = f"{lasted_text(longest['held_s'])} after it was told: {_then(longest['says'])}"
    if any(one["cause"] != "keeps-waiting" for one in notices):
        what = "1 notice was" if count == 1 else f"{count:,} notices were"
        return f"{what} told and taken back, the longest {after}"
    if count == 1:
        return f"1 pause was noticed and ended by itself, {after}"
    return f"{count:,} pauses were noticed and ended by themselves, the longest {after}"


def lasted_text(seconds: float) -> str:
    """14 s, 3 min 5 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE_S)
    if whole < _HOUR_S:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, _MINUTE_S)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def as_of_now(says: str, *, age_s: float) -> str:
    """A sentence that was told some time ago, with how long it has lasted by now."""
    found = _SINCE.search(says)
    if found is None:
        return says
    lasted = f" {found.group(1)} {lasted_text(float(found.group(2)) + age_s)}"
    return says[: found.start()] + lasted + says[found.end() :]


def _then(says: str) -> str:
    """Without how long it had lasted when it was told: that is over."""
    found = _SINCE.search(says)
    shown = says if found is None else says[: found.start()] + says[found.end() :]
    return shown.rstrip(".")
