"""What `holdfast check` shows to a person: a line for each category, and below it what is wrong."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from holdfast.model.facts import Fact, PathMeasured, SpecRead
from holdfast.model.words import seconds_text
from holdfast.views.categories import ERROR, OK, UNKNOWN, WARNING, Category
from holdfast.views.fact_text import fact_text
from holdfast.views.report import fit
from holdfast.views.sanitise import cells, clip, plain
from holdfast.views.spec_table import spec_table
from holdfast.views.task_names import task_names
from holdfast.views.wrap import hanging, wrapped

WIDTH_MIN: Final = 40
FACTS_SHOWN_MAX: Final = 40
FINDINGS_SHOWN_MAX: Final = 20
ECHOES_SHOWN_MAX: Final = 100
_MARKS: Final = {OK: "✓", WARNING: "!", ERROR: "✗", UNKNOWN: "·"}
_GREEN, _YELLOW, _RED, _CYAN, _DIM, _BOLD = "32", "1;33", "1;31", "1;36", "2", "1"
_COLOURS: Final = {OK: _GREEN, WARNING: _YELLOW, ERROR: _RED, UNKNOWN: _DIM}
_SEVERITY_COLOURS: Final = {"error": _RED, "warning": _YELLOW, "notice": _CYAN}
_INDENT: Final = "    "
_NAME_CELLS: Final = 11


def check_text(
    report: dict[str, Any],
    rows: Sequence[Category],
    *,
    summary: str,
    notes: Sequence[str] = (),
    verbose: bool = False,
    width: int,
    colour: bool,
) -> str:
    """The whole page, newline at the end. `report` is that of views/report.py."""
    page = _Page(report, width=max(width, WIDTH_MIN), colour=colour, verbose=verbose)
    lines = [line for group in _together(rows, verbose=verbose) for line in page.rows(group)]
    lines += page.unknown([*notes, *report["unknown"]], report["broken"])
    lines.append("")
    lines += page.summary(summary)
    return "\n".join(lines) + "\n"


def summary_text(report: dict[str, Any], rows: Sequence[Category], *, about: str) -> str:
    """One sentence for the end: how many of what, where to read on; or that all is well."""
    counts = Counter(finding["severity"] for finding in report["findings"])
    told = [
        f"{counts[name]} {name}{'s' if counts[name] > 1 else ''}"
        for name in ("error", "warning")
        if counts[name]
    ]
    looked = [row for row in rows if row.state != UNKNOWN]
    if told:
        ill = sum(row.state in {ERROR, WARNING} for row in rows)
        return (
            f"{' and '.join(told)} in {ill} of {len(looked)} categories;"
            " `holdfast explain CAUSE` tells more"
        )
    if report["broken"]:
        return "a rule of ours crashed, so its silence proves nothing"
    if not looked:
        return "nothing could be looked at, so nothing is known"
    many = "s" if counts["info"] > 1 else ""
    notes = f" ({counts['info']} note{many}: -v)" if counts["info"] else ""
    notes += " (and a notice above)" if counts["notice"] else ""
    return f"nothing wrong was found: {about}{notes}"


def _together(rows: Sequence[Category], *, verbose: bool) -> Iterator[list[Category]]:
    """Neighbours that were not looked at for one and the same reason share a line."""

    def key(row: Category) -> object:
        return (row.state, row.says) if row.state == UNKNOWN and not row.findings else id(row)

    for _, group in groupby(rows, key=key):
        yield list(group)


class _Page:
    """Where rows are laid out."""

    def __init__(self, report: dict[str, Any], *, width: int, colour: bool, verbose: bool) -> None:
        self.findings = report["findings"]
        self.width = width
        self.colour = colour
        self.verbose = verbose
        self.told: set[int] = set()  # facts that stand behind several categories, shown once

    def rows(self, group: Sequence[Category]) -> Iterator[str]:
        first = group[0]
        name = ", ".join(row.name for row in group)
        mark = _MARKS[first.state]
        label = f"{mark} {name:<{_NAME_CELLS}} "
        if len(group) > 1:
            label = f"{mark} "
            text = f"{name}: {fit(first.says)}"
        else:
            text = fit(first.says)
        for number, row in enumerate(hanging(label, wrapped(text, self.width - cells(label)))):
            shown = row
            if number == 0:
                shown = self.paint(mark, _COLOURS[first.state]) + row[len(mark) :]
            yield self.paint(row, _DIM) if first.state == UNKNOWN else shown
        for category in group:
            yield from self.below(category)

    def below(self, row: Category) -> Iterator[str]:
        found = [self.findings[number] for number in row.findings]
        # What is only worth knowing would hide what must be done.
        shown = [one for one in found if self.verbose or one["severity"] != "info"]
        for finding in shown[:FINDINGS_SHOWN_MAX]:
            yield from self.finding(finding)
        if len(shown) > FINDINGS_SHOWN_MAX:
            more = len(shown) - FINDINGS_SHOWN_MAX
            yield f"{_INDENT}… and {more} more: --format json has them all"
        if row.name == "Agreement" and row.findings:
            specs = [fact for fact in row.seen if isinstance(fact, SpecRead)]
            for line in spec_table(specs, width=self.width - len(_INDENT)):
                yield f"{_INDENT}{line}"
        if self.verbose and row.name == "Addresses":
            yield from self.addresses([fact for fact in row.seen if isinstance(fact, SpecRead)])
        if self.verbose:
            fresh = [fact for fact in row.seen if id(fact) not in self.told]
            self.told |= {id(fact) for fact in fresh}
            yield from self.behind(fresh)

    def finding(self, finding: dict[str, Any]) -> Iterator[str]:
        severity, cause = finding["severity"], finding["cause"]
        sure = finding["confidence"]
        label = f"{severity if severity != 'info' else 'note'}[{cause}]"
        doubt = "" if sure == "certain" else f" ({sure})"
        text = plain(f"{label}: {finding['says'].rstrip('.')}{doubt}")
        for number, row in enumerate(wrapped(text, self.width - len(_INDENT), indent=2)):
            if number == 0 and row.startswith(label):
                code = _SEVERITY_COLOURS.get(severity, _BOLD)
                yield f"{_INDENT}{self.paint(label, code)}{row[len(label) :]}"
            else:
                yield f"{_INDENT}  {row}" if number else f"{_INDENT}{row}"
        if finding["echoes"]:
            tasks = [echo["task"] for echo in finding["echoes"][:ECHOES_SHOWN_MAX]]
            yield from self.note("concerns", task_names(tasks))
        for number, step in enumerate(finding["do"]):
            yield from self.note("" if number else "fix", step)

    def note(self, label: str, text: str) -> Iterator[str]:
        first = f"{_INDENT}  {label:<4} " if len(label) <= 4 else f"{_INDENT}  {label} "  # noqa: PLR2004
        yield from hanging(first, wrapped(plain(text), self.width - cells(first)))

    def addresses(self, specs: Sequence[SpecRead]) -> Iterator[str]:
        """Who is where, each place once."""
        places = dict.fromkeys(
            (f"{role}:{index}", address)
            for spec in specs
            for role, listed in spec.cluster.items()
            for index, address in listed.items()
        )
        shown = [(plain(name), plain(address)) for name, address in places][:FACTS_SHOWN_MAX]
        column = min(max((cells(name) for name, _ in shown), default=0), self.width // 2)
        for name, address in shown:
            first = f"{_INDENT}- {clip(name, column)}{' ' * max(0, column - cells(name))}  "
            for row in hanging(first, wrapped(address, self.width - cells(first))):
                yield self.paint(row, _DIM)
        if len(places) > FACTS_SHOWN_MAX:
            yield f"{_INDENT}… and {len(places) - FACTS_SHOWN_MAX} more"

    def behind(self, facts: Sequence[Fact]) -> Iterator[str]:
        """The facts themselves; latencies as a table, because they are compared."""
        several = len({fact.host for fact in facts}) > 1
        speeds = [fact for fact in facts if isinstance(fact, PathMeasured)]
        others = [fact for fact in facts if not isinstance(fact, PathMeasured)]
        for fact in others[:FACTS_SHOWN_MAX]:
            origin = f"{fact.host}: " if several else ""
            first = f"{_INDENT}- "
            rows = wrapped(fit(f"{origin}{fact_text(fact)}"), self.width - cells(first))
            for row in hanging(first, rows):
                yield self.paint(row, _DIM)
        if len(others) > FACTS_SHOWN_MAX:
            yield f"{_INDENT}… and {len(others) - FACTS_SHOWN_MAX} more: --record FILE keeps all"
        yield from self.speeds(speeds[:FACTS_SHOWN_MAX], several=several)

    def speeds(self, speeds: Sequence[PathMeasured], *, several: bool) -> Iterator[str]:
        if not speeds:
            return
        hosts = cells(max((plain(fact.host) for fact in speeds), key=cells)) + 2 if several else 0
        targets = max(len(str(fact.target)) for fact in speeds)
        room = max(8, self.width - len(_INDENT) - hosts - targets - 30)
        table = [["from", "to", "address", "median", "p99", "lost"]]
        for fact in speeds:
            median, worst = seconds_text(fact.p50_s), seconds_text(fact.p99_s)
            address = clip(plain(fact.address), room)
            lost = f"{fact.lost}/{fact.tries}"
            table.append([plain(fact.host), str(fact.target), address, median, worst, lost])
        table = table if several else [row[1:] for row in table]
        widths = [max(cells(row[column]) for row in table) for column in range(len(table[0]))]
        for row in table:
            padded = (
                f"{text}{' ' * (width - cells(text))}"
                for text, width in zip(row, widths, strict=True)
            )
            yield self.paint(f"{_INDENT}{'  '.join(padded)}".rstrip(), _DIM)

    def unknown(self, unknown: Sequence[str], broken: dict[str, str]) -> list[str]:
        says = [f"unknown: {text}" for text in unknown]
        says += [
            f"our rule {name} crashed, so it proves nothing: {why}" for name, why in broken.items()
        ]
        rows: list[str] = []
        for text in says:
            rows += hanging("· ", wrapped(fit(text), self.width - 2))
        return [self.paint(row, _DIM) for row in rows]

    def summary(self, text: str) -> Iterator[str]:
        for row in wrapped(plain(text), self.width):
            yield self.paint(row, _BOLD)

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text
