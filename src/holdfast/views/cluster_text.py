"""A running cluster as `holdfast attach` shows it: who answers, and who waits for whom."""

from collections.abc import Sequence
from typing import Any, Final

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.path import Outcome
from holdfast.model.standing import Standing, standings
from holdfast.model.waiting import waits_in
from holdfast.model.words import seconds_text
from holdfast.views.sanitise import clip, plain
from holdfast.views.waits_text import waits_text

ROWS_SHOWN_MAX: Final = 40
_GREEN, _RED, _YELLOW = "1;32", "1;31", "1;33"
STATES: Final = {
    Outcome.STALLED: "does not answer",
    Outcome.REFUSED: "refused",
    Outcome.FILTERED: "no answer at all",
    Outcome.UNREACHABLE: "unreachable",
    Outcome.RESET: "reset",
    Outcome.NOT_GRPC: "not gRPC",
    Outcome.NOT_TENSORFLOW: "not TensorFlow",
    Outcome.UNRESOLVED: "name unknown",
    Outcome.BAD_ADDRESS: "no host:port",
    Outcome.BLIND: "not looked at",
}


def tasks_shown(evidence: Evidence) -> list[dict[str, Any]]:
    """One entry for each task, for programs."""
    return [
        {
            "task": str(task),
            "address": plain(at.look.address),
            "state": "ready" if at.is_ready else str(at.look.outcome),
            "name": plain(at.look.name) or None,
            "incarnation": str(at.look.incarnation) if at.look.incarnation else None,
            "devices": [plain(device) for device in at.look.devices],
            "took_s": at.look.took_s,
        }
        for task, at in sorted(standings(evidence).items())
    ]


def waits_shown(evidence: Evidence) -> list[dict[str, str]]:
    return [
        {"waiter": str(wait.waiter), "awaited": str(wait.awaited), "why": plain(wait.why)}
        for wait in waits_in(evidence)
    ]


def cluster_text(evidence: Evidence, *, width: int, colour: bool) -> str:
    """A line for each task, and below it the picture of the waits."""
    found = sorted(standings(evidence).items())
    # With many tasks, those that are well are only counted.
    shown = found if len(found) <= ROWS_SHOWN_MAX else [one for one in found if not one[1].is_ready]
    rows = [_row(task, at, shown, colour=colour) for task, at in shown[:ROWS_SHOWN_MAX]]
    rows = [clip(row, width) if not colour else row for row in rows]
    if len(shown) > ROWS_SHOWN_MAX:
        rows.append(f"… and {len(shown) - ROWS_SHOWN_MAX} more")
    if len(shown) < len(found):
        rows.append(_paint(f"✓ {len(found) - len(shown)} others answer", _GREEN, colour=colour))
    waits = [(str(wait.waiter), str(wait.awaited), wait.why) for wait in waits_in(evidence)]
    if waits:
        marks = {str(task): state_of(at) for task, at in found if not at.is_ready}
        rows += ["", *waits_text(waits, marks, width=width, colour=colour)]
    return "\n".join(rows) + "\n"


def state_of(at: Standing) -> str:
    if at.is_ready:
        return "answers"
    if at.look.outcome == Outcome.ANSWERED:
        return f"{plain(at.look.name) or 'nobody by name'} answers"
    return STATES[Outcome(at.look.outcome)]


def _row(
    task: TaskId, at: Standing, shown: Sequence[tuple[TaskId, Standing]], *, colour: bool
) -> str:
    names = max(len(str(one)) for one, _ in shown)
    states = max(len(state_of(one)) for _, one in shown)
    places = max(len(plain(one.look.address)) for _, one in shown)
    mark, code = ("✓", _GREEN) if at.is_ready else ("✗", _RED)
    state = f"{state_of(at):{states}}"
    tail = f"{','.join(map(plain, at.look.devices[:4]))}  {seconds_text(at.look.took_s)}"
    known = f"  incarnation {at.look.incarnation}" if at.look.incarnation else ""
    return (
        f"{_paint(mark, code, colour=colour)} {task!s:{names}}"
        f"  {_paint(state, code, colour=colour)}"
        f"  {plain(at.look.address):{places}}  {tail if at.is_ready else ''}{known}".rstrip()
    )


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
