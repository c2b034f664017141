"""The report as a person reads it at three in the morning, in the manner of rustc."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import groupby
from typing import Any, Final

from holdfast.model.families import FAMILIES
from holdfast.model.words import bytes_text
from holdfast.views.file_names import shared_folder, with_short_names
from holdfast.views.page import BAR, BOLD, GREEN, RED, SEVERITY_COLOURS, YELLOW, Page
from holdfast.views.recovery_story import recovery_rows
from holdfast.views.same_fault import with_same_faults_joined
from holdfast.views.sanitise import cells, clip, plain
from holdfast.views.stop_story import stop_rows
from holdfast.views.story import speaker, standing_out, stood_still, unfinished
from holdfast.views.taken_back import (
    accusations_taken_back,
    pauses_sentence,
    taken_back_label,
    taken_back_sentence,
)
from holdfast.views.task_names import task_names
from holdfast.views.timeline_text import timeline_rows
from holdfast.views.wrap import GLUE

WIDTH_MIN: Final = 48
EVIDENCE_SHOWN_MAX: Final = 8
EVIDENCE_ROWS_MAX: Final = 4
UNKNOWN_SHOWN_MAX: Final = 6
UNUSUAL_SHOWN_MAX: Final = 6
LAST_WORDS_SHOWN_MAX: Final = 6  # tasks or files whose last words are shown
LAST_LINES_SHOWN_MAX: Final = 5  # of each, where there are many
NAME_CELLS_MAX: Final = 24
INDENT_MAX: Final = 8

_TIMES: Final = "\u00d7"

Report = dict[str, Any]


def report_text(report: Report, *, width: int, colour: bool, zone: tzinfo | None = None) -> str:
    """The whole report, newline at the end. Times are in `zone`; None means local time."""
    folder = shared_folder(report)
    report = with_same_faults_joined(with_short_names(report))
    page = Page(width=max(width, WIDTH_MIN), colour=colour, zone=zone)
    text = _Text(page, report, folder=folder)
    blocks = [list(recovery_rows(page, report)), list(stop_rows(page, report))]
    blocks += [
        list(text.finding(finding, is_root=number == 0))
        for number, finding in enumerate(report["findings"])
    ]
    blocks += [list(rows) for rows in text.taken_back()]
    blocks.append(list(text.closing()))
    return "\n".join("\n".join(rows) + "\n" for rows in blocks if rows)


def amount_text(sources: Sequence[Report]) -> str:
    """How much was read: 3 files (1,234 lines)."""
    lines = sum(source["lines"] for source in sources)
    of_lines = f"({lines:,} line{'' if lines == 1 else 's'})"
    return f"{len(sources):,} files {of_lines}" if len(sources) > 1 else f"1 file {of_lines}"


class _Text:
    """What the report says, laid out on a page."""

    def __init__(self, page: Page, report: Report, *, folder: str) -> None:
        self.page = page
        self.report = report
        self.folder = folder  # that all logs lie in: their names are shown without it
        self.sources: list[Report] = report.get("sources", [])  # none: of a run, not of logs alone
        self.more = "--format json" if self.sources else "report.json"

    def finding(self, finding: Report, *, is_root: bool) -> Iterator[str]:
        """One finding; at the root cause also what the whole report says around it."""
        page = self.page
        severity, name = finding["severity"], finding["cause"]
        code = SEVERITY_COLOURS.get(severity, BOLD)
        yield from page.headline(f"{severity}[{name}]", _headline(finding), code)
        yield from page.under("  --> ", " · ".join(self.place(finding)))
        if finding["evidence"]:
            yield page.bar()
            yield from self.evidence(finding["evidence"])
            yield page.bar()
        if is_root:
            yield from self.timeline()
        family = finding["family"]
        yield from page.notes("cause", f"{FAMILIES.get(family, 'not established')} ({family})")
        if finding["echoes"]:
            yield from page.notes(*_victims(finding))
        if is_root and self.report["verdict"] == "sick":
            yield from self.rest()
        explain = f"holdfast explain {name}"
        if finding["do"]:
            yield from page.notes("fix", *finding["do"])
            yield from page.notes("help", explain)
        else:
            yield from page.notes("fix", f"see `{explain}`")

    def timeline(self) -> Iterator[str]:
        """Who said what when: of a run the evidence and the victims say it already."""
        if self.sources:
            yield from timeline_rows(self.page, self.report.get("timeline", []), more=self.more)

    def rest(self) -> Iterator[str]:
        """What is well, and what we do not know: said with the root cause, once."""
        report, page = self.report, self.page
        if report["healthy"] or not self.sources:
            healthy = task_names(report["healthy"]) or "no task is known to be well"
            yield from page.notes("healthy", healthy)
        gaps = [
            gap for gap in report["unknown"] if gap != unfinished(report)
        ]  # the headline has it
        unknown = gaps[:UNKNOWN_SHOWN_MAX]
        if len(gaps) > UNKNOWN_SHOWN_MAX:
            unknown += [f"… and {len(gaps) - UNKNOWN_SHOWN_MAX} more in {self.more}"]
        proven = report["verdict"] == "sick"
        if unknown or (proven and not (self.sources or unfinished(report))):
            yield from page.notes("unknown", *unknown or ["nothing that would matter here"])
        broken = report["broken"].items()
        says = (f"our rule {name} crashed, so it proves nothing: {why}" for name, why in broken)
        yield from page.notes("broken", *says)
        if self.sources:
            yield from page.notes("read", *_read(self.sources, self.folder))
        if noise := report.get("noise", {}).get("lines"):
            lines = "1 line sounds" if noise == 1 else f"{noise:,} lines sound"
            yield from page.notes("noise", f"{lines} bad and {_mean(noise)} nothing")

    def taken_back(self) -> Iterator[Iterator[str]]:
        """What was told while the job ran and did not stay true; pauses are one row together."""
        told, more = accusations_taken_back(self.report)
        for one in told:
            yield self.no_longer(one)
        if more:
            yield self.page.under("", more)
        if pauses := pauses_sentence(self.report):
            yield self.page.under("", pauses)

    def no_longer(self, one: Report) -> Iterator[str]:
        label = taken_back_label(one["severity"], held_s=one["held_s"])
        says = taken_back_sentence(one["cause"], one["culprit"], one["why"])
        yield from self.page.headline(label, says, GREEN)
        yield from self.page.notes("told", one["says"])

    def closing(self) -> Iterator[str]:
        """The last block: the verdict, unless the only finding has said it all."""
        report, page = self.report, self.page
        findings = report["findings"]
        if done := report.get("done"):
            yield from page.headline(done["says"], f"{done['by']} finished the training", GREEN)
        if report["verdict"] == "healthy":
            if not done:
                yield from page.headline("healthy", _calm(report), GREEN)
            if not self.sources:
                yield from page.notes("unknown", *report["unknown"][:UNKNOWN_SHOWN_MAX])
        elif report["verdict"] == "cannot-tell":
            yield from self.cannot_tell()
        else:
            if failed := task_names(list(report.get("last_words", {}))):
                says = f"{failed} failed too, and nothing seen proves why"
                yield from page.headline("unexplained", says, YELLOW)
                yield from self.last_words()
            if len(findings) > 1:
                root = f"{_count(findings)}; the root cause is {_root(findings[0])}"
                yield from page.headline("sick", root, RED)

    def cannot_tell(self) -> Iterator[str]:
        report = self.report
        failed = "" if self.sources else task_names(list(report.get("last_words", {})))
        says = f"{failed} failed, and nothing seen proves why" if failed else self.why_unknown()
        yield from self.page.headline("cannot tell", says, YELLOW)
        for why, entries in standing_out(report).items():
            yield self.page.bar()
            yield from self.page.under(f"{BAR} ", f"{why}:", bar=BAR)
            yield from self.evidence(entries, shown_max=UNUSUAL_SHOWN_MAX)
        yield from self.last_words()
        yield from self.timeline()
        if failed or report["broken"] or report["unknown"] or report["findings"] or self.sources:
            yield from self.rest()
        if failed:
            yield from self.page.notes("help", "the whole output is in the logs named above")
        elif self.sources:
            yield from self.page.notes(
                "help", "give it the logs of all tasks, standard error too, and `dmesg -T`"
            )

    def why_unknown(self) -> str:
        """Why nobody can tell, where nobody has failed."""
        report = self.report
        if report["broken"]:
            return "a rule of ours crashed, so its silence proves nothing"
        if says := stood_still(report) or unfinished(report):
            return says
        if self.sources:
            return f"nothing in {amount_text(self.sources)} proves a cause"
        if report["unknown"]:
            return "what was written down does not say how this ended"
        return "there are no facts to judge by"

    def last_words(self) -> Iterator[str]:
        """What each failed task without a cause said last, and where the whole of it is."""
        said = self.report.get("last_words", {})
        kept = list(said.items())[: LAST_WORDS_SHOWN_MAX if self.sources else None]
        lines_max = LAST_LINES_SHOWN_MAX if len(kept) > 1 and self.sources else None
        for task, lines in kept:
            yield self.page.bar()
            label = f"last words of {task}" if lines else f"{task} left no last words"
            logs = ", ".join(self.report.get("logs", {}).get(task, []))
            says = f"{label} (logs: {logs})" if logs else label
            yield from self.page.under(f"{BAR} ", says, bar=BAR)
            for line in lines[-lines_max if lines_max else 0 :]:
                first = f"{BAR}   " + " " * min(len(line) - len(line.lstrip()), INDENT_MAX)
                yield from self.page.under(first, line, bar=BAR, rows_max=EVIDENCE_ROWS_MAX)
        if len(said) > len(kept):
            yield self.page.bar()
            more = f"… and {len(said) - len(kept)} more in {self.more}"
            yield from self.page.under(f"{BAR} ", more, bar=BAR)
        if said:
            yield self.page.bar()

    def place(self, finding: Report) -> Iterator[str]:
        culprit, host = finding["culprit"], finding["host"]
        if culprit:
            yield _glued(f"{culprit} on {host}" if host and host not in culprit else culprit)
        else:
            yield _glued(f"host {host}" if host else "no single culprit")
        if finding["since"]:
            moment = self.page.moment(finding["since"])
            yield _glued(f"since {moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}")
        yield _glued(f"confidence: {finding['confidence']}")

    def evidence(
        self, entries: Sequence[Report], *, shown_max: int = EVIDENCE_SHOWN_MAX
    ) -> Iterator[str]:
        shown = list(_folded(entries))
        kept = shown[:shown_max]
        names = [clip(plain(speaker(entry)), NAME_CELLS_MAX) for entry, _ in kept]
        names_cells = max(map(cells, names), default=0)
        for (entry, times), name in zip(kept, names, strict=True):
            clock = f"{self.page.moment(entry['at']):%H:%M:%S}  " if entry.get("at") else ""
            gap = " " * (names_cells - cells(name) + 2)
            yield from self.page.under(
                f"{BAR} {clock}{name}{gap}",
                entry["text"],
                bar=BAR,
                rows_max=EVIDENCE_ROWS_MAX,
                tail=_tail(entry, times),
            )
        if len(shown) > len(kept):
            more = len(shown) - len(kept)
            yield from self.page.under(f"{BAR} ", f"… {more} more in {self.more}", bar=BAR)


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


def _victims(finding: Report) -> tuple[str, str]:
    """Who suffers. Of a notice they only wait: nobody is accused, so nobody is a victim."""
    if finding["severity"] == "notice":
        return "waiting", task_names([echo["task"] for echo in finding["echoes"]])
    by_cause: dict[str, list[str]] = {}
    for echo in finding["echoes"]:
        by_cause.setdefault(echo["cause"], []).append(echo["task"])
    groups = ", ".join(f"{task_names(tasks)} ({cause})" for cause, tasks in by_cause.items())
    return "victims", f"{groups}: these are consequences, not causes"


def _calm(report: Report) -> str:
    tasks = task_names(report["healthy"])
    if report["findings"]:
        return f"no task failed; {_count(report['findings'])} above"
    if sources := report.get("sources", []):
        return f"nothing wrong was found in {amount_text(sources)}"
    return f"nothing wrong was found; all is well with {tasks}" if tasks else "nothing is wrong"


def _read(sources: Sequence[Report], folder: str) -> Iterator[str]:
    """How much was read, and whose it is."""
    tasks = task_names(sorted({source["task"] for source in sources if source["task"]}))
    whose = f", of {tasks}" if tasks else ""
    where = f" in {folder}" if folder else ""
    size = bytes_text(sum(source["bytes"] for source in sources))
    yield f"{amount_text(sources)}, {size}{whose}{where}"
    nobodys = [source["file"] for source in sources if not source["task"]]
    if tasks and nobodys:
        more = f" and {len(nobodys) - 1} more" if len(nobodys) > 1 else ""
        yield f"not known whose log it is: {nobodys[0]}{more}"


def _mean(lines: int) -> str:
    return "means" if lines == 1 else "mean"


def _folded(entries: Sequence[Report]) -> Iterator[tuple[Report, int]]:
    for _, same in groupby(entries, key=lambda entry: (entry["task"], entry["text"])):
        alike = list(same)
        yield alike[0], len(alike)


def _count(findings: Sequence[Report]) -> str:
    counts = {"error": 0, "warning": 0, "notice": 0, "info": 0}
    for finding in findings:
        counts[finding["severity"]] = counts.get(finding["severity"], 0) + 1
    named = ((count, name if name != "info" else "note") for name, count in counts.items())
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for count, name in named if count)


def _root(finding: Report) -> str:
    at = f" at {finding['culprit']}" if finding["culprit"] else ""
    return f"{finding['cause']}{at}"
