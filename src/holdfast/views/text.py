"""The report as a person reads it at three in the morning, in the manner of rustc."""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Any, Final

from holdfast.model.families import FAMILIES
from holdfast.views.sanitise import cells, plain
from holdfast.views.wrap import GLUE, hanging, wrapped

WIDTH_MIN: Final = 48
EVIDENCE_SHOWN_MAX: Final = 8
EVIDENCE_ROWS_MAX: Final = 4
UNKNOWN_SHOWN_MAX: Final = 6
INDENT_MAX: Final = 8
RANGE_MIN: Final = 3  # worker:0-2, but worker:0 worker:1

_RED, _YELLOW, _GREEN, _BLUE, _BOLD = "1;31", "1;33", "1;32", "1;34", "1"
_SEVERITY_COLOURS: Final = {"error": _RED, "warning": _YELLOW, "info": _BLUE}
_BAR: Final = "   |"
_MARGIN: Final = "    "
_TIMES: Final = "\u00d7"

Report = dict[str, Any]


def report_text(report: Report, *, width: int, colour: bool, zone: tzinfo | None = None) -> str:
    """The whole report, newline at the end. Times are in `zone`; None means local time."""
    page = _Page(width=max(width, WIDTH_MIN), colour=colour, zone=zone)
    blocks = [
        list(page.finding(finding, about=report if number == 0 else None))
        for number, finding in enumerate(report["findings"])
    ]
    blocks.append(list(page.closing(report)))
    return "\n".join("\n".join(rows) + "\n" for rows in blocks if rows)


def task_names(names: Sequence[str]) -> str:
    """worker:0-7 instead of eight names; the order of roles stays."""
    by_role: dict[str, list[int]] = {}
    for name in names:
        role, _, index = plain(name).partition(":")
        by_role.setdefault(role, []).append(int(index) if index.isdecimal() else -1)
    return " ".join(name for role, found in by_role.items() for name in _ranges(role, found))


def _ranges(role: str, indices: list[int]) -> Iterator[str]:
    ordered = sorted(set(indices))
    for _, group in groupby(enumerate(ordered), key=lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        if len(run) >= RANGE_MIN:
            yield f"{role}:{run[0]}-{run[-1]}"
        else:
            yield from (role if index < 0 else f"{role}:{index}" for index in run)


class _Page:
    """Where rows are laid out: the width, whether to colour, whose clock."""

    def __init__(self, *, width: int, colour: bool, zone: tzinfo | None) -> None:
        self.width = width
        self.colour = colour
        self.zone = zone

    def finding(self, finding: Report, *, about: Report | None) -> Iterator[str]:
        """One finding; with `about`, also what the whole report says around its root cause."""
        severity, name = finding["severity"], finding["cause"]
        code = _SEVERITY_COLOURS.get(severity, _BOLD)
        yield from self.headline(f"{severity}[{name}]", _headline(finding), code)
        yield from self.under("  --> ", " · ".join(self.place(finding)))
        if finding["evidence"]:
            yield self.paint(_BAR, _BLUE)
            yield from self.evidence(finding["evidence"])
            yield self.paint(_BAR, _BLUE)
        family = finding["family"]
        yield from self.notes("cause", f"{FAMILIES.get(family, 'not established')} ({family})")
        if finding["echoes"]:
            yield from self.notes("victims", _victims(finding))
        if about is not None and about["verdict"] == "sick":
            yield from self.rest(about)
        explain = f"holdfast explain {name}"
        if finding["do"]:
            yield from self.notes("fix", *finding["do"])
            yield from self.notes("help", explain)
        else:
            yield from self.notes("fix", f"see `{explain}`")

    def rest(self, report: Report) -> Iterator[str]:
        """What is well, and what we do not know: said with the root cause, once."""
        healthy = task_names(report["healthy"]) or "no task is known to be well"
        yield from self.notes("healthy", healthy)
        unknown = report["unknown"][:UNKNOWN_SHOWN_MAX] or ["nothing that would matter here"]
        if len(report["unknown"]) > UNKNOWN_SHOWN_MAX:
            unknown += [f"… and {len(report['unknown']) - UNKNOWN_SHOWN_MAX} more in report.json"]
        yield from self.notes("unknown", *unknown)
        broken = report["broken"].items()
        says = (f"our rule {name} crashed, so it proves nothing: {why}" for name, why in broken)
        yield from self.notes("broken", *says)

    def closing(self, report: Report) -> Iterator[str]:
        """The last block: the verdict, unless the only finding has said it all."""
        findings = report["findings"]
        if report["verdict"] == "healthy":
            yield from self.headline("healthy", _calm(report), _GREEN)
        elif report["verdict"] == "cannot-tell":
            yield from self.cannot_tell(report)
        else:
            if failed := task_names(list(report.get("last_words", {}))):
                says = f"{failed} failed too, and nothing seen proves why"
                yield from self.headline("unexplained", says, _YELLOW)
                yield from self.last_words(report)
            if len(findings) > 1:
                root = f"{_count(findings)}; the root cause is {_root(findings[0])}"
                yield from self.headline("sick", root, _RED)

    def cannot_tell(self, report: Report) -> Iterator[str]:
        failed = task_names(list(report.get("last_words", {})))
        if failed:
            says = f"{failed} failed, and nothing seen proves why"
        elif report["broken"]:
            says = "a rule of ours crashed, so its silence proves nothing"
        elif report["unknown"]:
            says = "what was written down does not say how this ended"
        else:
            says = "there are no facts to judge by"
        yield from self.headline("cannot tell", says, _YELLOW)
        yield from self.last_words(report)
        if failed or report["broken"] or report["unknown"]:
            yield from self.rest(report)
        if failed:
            yield from self.notes("help", "the whole output is in the logs named above")

    def last_words(self, report: Report) -> Iterator[str]:
        """What each failed task without a cause said last, and where the whole of it is."""
        said = report.get("last_words", {})
        for task, lines in said.items():
            yield self.paint(_BAR, _BLUE)
            label = f"last words of {task}" if lines else f"{task} left no last words"
            logs = ", ".join(report.get("logs", {}).get(task, []))
            says = f"{label} (logs: {logs})" if logs else label
            yield from self.under(f"{_BAR} ", says, bar=_BAR)
            for line in lines:
                first = f"{_BAR}   " + " " * min(len(line) - len(line.lstrip()), INDENT_MAX)
                yield from self.under(first, line, bar=_BAR, rows_max=EVIDENCE_ROWS_MAX)
        if said:
            yield self.paint(_BAR, _BLUE)

    def place(self, finding: Report) -> Iterator[str]:
        culprit, host = finding["culprit"], finding["host"]
        yield _glued(f"{culprit} on {host}" if culprit and host else culprit or f"host {host}")
        if finding["since"]:
            moment = self.moment(finding["since"])
            yield _glued(f"since {moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}")
        yield _glued(f"confidence: {finding['confidence']}")

    def evidence(self, entries: Sequence[Report]) -> Iterator[str]:
        shown = list(_folded(entries))
        kept = shown[:EVIDENCE_SHOWN_MAX]
        tasks_cells = max(cells(entry["task"] or "-") for entry, _ in kept)
        for entry, times in kept:
            clock = f"{self.moment(entry['at']):%H:%M:%S}  " if entry.get("at") else ""
            task = plain(entry["task"] or "-")
            gap = " " * (tasks_cells - cells(task) + 2)
            first = f"{_BAR} {clock}{task}{gap}"
            tail = _tail(entry, times)
            yield from self.under(
                first, entry["text"], bar=_BAR, rows_max=EVIDENCE_ROWS_MAX, tail=tail
            )
        if len(shown) > len(kept):
            more = len(shown) - len(kept)
            yield from self.under(f"{_BAR} ", f"… {more} more in report.json", bar=_BAR)

    def headline(self, label: str, says: str, code: str) -> Iterator[str]:
        """Later rows are indented a little, as the label may be long."""
        rows = wrapped(plain(f"{label}: {says}"), self.width, indent=len(_MARGIN))
        for number, row in enumerate(rows):
            if number == 0 and row.startswith(label):
                yield self.paint(label, code) + self.paint(row[len(label) :], _BOLD)
            else:
                yield self.paint(f"{_MARGIN}{row}" if number else row, _BOLD)

    def notes(self, label: str, *texts: str) -> Iterator[str]:
        """One `= label` for all texts of a kind, each on rows of its own."""
        for number, text in enumerate(texts):
            yield from self.under("     " + " " * 9 if number else f"   = {label:<8} ", text)

    def under(
        self, first: str, text: str, *, bar: str = "", rows_max: int = 0, tail: str = ""
    ) -> Iterator[str]:
        """A row that begins with `first`, the rows it overflows into, and the tail kept whole."""
        room = self.width - cells(first)
        rows = wrapped(plain(text), room, rows_max=rows_max)
        if tail and cells(rows[-1]) + cells(tail) < room:
            rows[-1] += f" {tail}"
        elif tail:
            rows += wrapped(tail, room)
        for row in hanging(first, rows, then=bar):
            margin = next((mark for mark in ("  -->", _BAR, "   =") if row.startswith(mark)), "")
            yield self.paint(margin, _BLUE) + row[len(margin) :]

    def moment(self, iso: str) -> datetime:
        return datetime.fromisoformat(iso).astimezone(self.zone)

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def _headline(finding: Report) -> str:
    """The sentence, with the culprit's name in it."""
    says, culprit = finding["says"].rstrip("."), finding["culprit"]
    return says if not culprit or culprit in says else f"{culprit}: {says}"


def _glued(text: str) -> str:
    return text.replace(" ", GLUE)


def _tail(entry: Report, times: int) -> str:
    """How often, and where to read it."""
    often = [f"({_TIMES}{times})"] if times > 1 else []
    line = f":{entry['line']}" if entry["line"] else ""
    return plain(" ".join([*often, *([f"[{entry['file']}{line}]"] if entry["file"] else [])]))


def _victims(finding: Report) -> str:
    by_cause: dict[str, list[str]] = {}
    for echo in finding["echoes"]:
        by_cause.setdefault(echo["cause"], []).append(echo["task"])
    groups = ", ".join(f"{task_names(tasks)} ({cause})" for cause, tasks in by_cause.items())
    return f"{groups}: these are consequences, not causes"


def _calm(report: Report) -> str:
    tasks = task_names(report["healthy"])
    if report["findings"]:
        return f"nothing failed; {_count(report['findings'])} above"
    return f"nothing wrong was found; all is well with {tasks}" if tasks else "nothing is wrong"


def _folded(entries: Sequence[Report]) -> Iterator[tuple[Report, int]]:
    for _, same in groupby(entries, key=lambda entry: (entry["task"], entry["text"])):
        alike = list(same)
        yield alike[0], len(alike)


def _count(findings: Sequence[Report]) -> str:
    counts = {"error": 0, "warning": 0, "info": 0}
    for finding in findings:
        counts[finding["severity"]] = counts.get(finding["severity"], 0) + 1
    named = ((count, name if name != "info" else "note") for name, count in counts.items())
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for count, name in named if count)


def _root(finding: Report) -> str:
    at = f" at {finding['culprit']}" if finding["culprit"] else ""
    return f"{finding['cause']}{at}"
