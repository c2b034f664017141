"""What all views ask of a report's timeline: whose moment, when, and whether it tells anything."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from holdfast.model.words import UNFINISHED

Moment = dict[str, Any]


def tells(moments: Sequence[Moment]) -> bool:
    """Whether several speak, and it is known in which order, or who was first."""
    speakers = {speaker(moment) for moment in moments}
    first = any(moment["role"] == "first" for moment in moments)
    return len(speakers) > 1 and (first or in_order(moments))


def in_order(moments: Sequence[Moment]) -> bool:
    """Whether it is known when they spoke, by the clock or since the start."""
    return any(moment["at"] or moment["at_s"] for moment in moments)


def story_title(moments: Sequence[Moment]) -> str:
    """What the order of the moments proves, and no more than that."""
    if not in_order(moments):
        return "Whose words are the cause, and whose only echo it"
    roles = [moment["role"] for moment in moments if moment["role"] in ("first", "echo")]
    if roles[:1] == ["echo"]:  # a traceback has no time of its own
        return "Who said what, by the last time that stands above it"
    return "Who said what first, and who only after it"


def speaker(moment: Moment) -> str:
    """Whose moment it is: the task, else the last part of the file's name."""
    named: str = moment["task"] or (moment["file"] or "-").rpartition("/")[2]
    return named


def clocks(moments: Sequence[Moment], zone: tzinfo | None = UTC) -> list[str]:
    """When each was, to a tenth of a second: tasks that fail together do so within one.

    By the clock where all dates are known, else since the start, else not at all.
    """
    if all(moment["at"] for moment in moments):
        times = [datetime.fromisoformat(moment["at"]).astimezone(zone) for moment in moments]
        return [f"{at:%H:%M:%S}.{at.microsecond // 100_000}" for at in times]
    if not in_order(moments):
        return ["" for _ in moments]
    return [f"+{moment['at_s']:,.1f} s" for moment in moments]


def standing_out(report: dict[str, Any]) -> dict[str, list[Moment]]:
    """What is unusual where nothing is proven, by why it is; not once more what was said last."""
    last = [line for lines in report.get("last_words", {}).values() for line in lines]
    by_why: dict[str, list[Moment]] = {}
    for one in report.get("unusual", []):
        if not any(one["text"] in line for line in last):
            by_why.setdefault(one["why"], []).append(one)
    return by_why


def stood_still(report: dict[str, Any]) -> str:
    """That it ended while it stood still, where no cause is proven; empty if that is not so."""
    first = report["findings"][0] if report["findings"] else None
    if report["verdict"] != "cannot-tell" or first is None:
        return ""
    if first["cause"] != "keeps-waiting" and first["severity"] != "notice":
        return ""
    by = report.get("stop_asked_by")
    how = f"was stopped by {by} while it stood still" if by else "stood still when last seen"
    return f"the job {how}; nothing proves a cause"


def unfinished(report: dict[str, Any]) -> str:
    """Why calm logs are no proof that all went well; empty where something else is missing."""
    return next((gap for gap in report["unknown"] if gap.startswith(UNFINISHED)), "")
