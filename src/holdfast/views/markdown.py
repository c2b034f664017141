"""The report as Markdown, for an issue or a chat: strangers' words stay words."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.model.families import FAMILIES
from holdfast.views.file_names import with_short_names
from holdfast.views.same_fault import with_same_faults_joined
from holdfast.views.sanitise import plain
from holdfast.views.story import clocks, speaker, standing_out, stood_still, story_title, tells
from holdfast.views.taken_back import (
    accusations_taken_back,
    pauses_sentence,
    taken_back_line,
)
from holdfast.views.task_names import task_names
from holdfast.views.text import amount_text

EVIDENCE_SHOWN_MAX: Final = 8
MOMENTS_SHOWN_MAX: Final = 20
LAST_WORDS_SHOWN_MAX: Final = 4
LAST_LINES_SHOWN_MAX: Final = 8
_MARKS: Final = {
    "error": "❌",
    "warning": "⚠️",
    "notice": "🔔",
    "info": "ℹ️",  # noqa: RUF001 - the sign for information
}
_VERDICTS: Final = {"healthy": "✅ Healthy", "sick": "❌ Sick", "cannot-tell": "❓ Cannot tell"}
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ESCAPED: Final = frozenset("\\`*[]#~$")
_AT_START: Final = frozenset("-+=.:0123456789")
_BREAK: Final = "\u200b"  # zero width: no name is called, no issue is linked

Report = dict[str, Any]


def report_markdown(report: Report) -> str:
    """Headline, evidence, timeline and fix, newline at the end."""
    report = with_same_faults_joined(with_short_names(report))
    blocks = [
        block for number, one in enumerate(report["findings"]) for block in _finding(one, number)
    ]
    blocks += _taken_back(report)
    if done := report.get("done"):
        blocks.append(f"### ✅ {prose(done['says'].capitalize())}")
        blocks.append(prose(f"{done['by']} finished the training."))
    elif report["verdict"] != "sick":
        blocks.append(f"### {_VERDICTS.get(report['verdict'], 'Unknown')}")
        blocks += (
            [f"{still[:1].upper()}{still[1:]}."] if (still := prose(stood_still(report))) else []
        )
        blocks += _without_cause(report)
    blocks += _timeline(report.get("timeline", []))
    blocks += _closing(report)
    return "\n\n".join(blocks) + "\n"


def prose(text: str) -> str:
    """A stranger's sentence as Markdown: no markup, no HTML, no mention and no link in it."""
    said = plain(text).strip()
    shown: list[str] = []
    for before, char, after in zip(" " + said, said, said[1:] + " ", strict=False):
        if char in _ENTITIES:
            shown.append(_ENTITIES[char])
        elif char == "_":
            shown.append("_" if before.isalnum() and after.isalnum() else "\\_")
        elif char in _ESCAPED:
            shown.append(f"\\{char}")
        else:
            shown.append(char)
        if (char in "@#" and after.isalnum()) or (char == ":" and after == "/"):
            shown.append(_BREAK)
    told = "".join(shown).replace("www.", f"www{_BREAK}.")
    # A list, a rule or a heading can begin only where a line does.
    return f"{_BREAK}{told}" if said[:1] in _AT_START else told


def code(text: str) -> str:
    """A stranger's text as a code span."""
    said = plain(text).strip()
    if not said:
        return "–"  # noqa: RUF001 - a dash for nothing
    fence = _fence(said, 1)
    pad = " " if said[0] == "`" or said[-1] == "`" else ""
    return f"{fence}{pad}{said}{pad}{fence}"


def cell(text: str) -> str:
    """As `code`, for a table, where `\\|` is a pipe.

    A backslash of the text before its own pipe would make that a border again: a space parts them.
    """
    return code(text.replace("\\|", "\\ |")).replace("|", "\\|")


def _fence(text: str, ticks_min: int) -> str:
    """More backticks than stand together anywhere in the text."""
    longest = run = 0
    for one in text:
        run = run + 1 if one == "`" else 0
        longest = max(longest, run)
    return "`" * max(ticks_min, longest + 1)


def _finding(found: Report, number: int) -> Iterator[str]:
    culprit = f" at {code(found['culprit'])}" if found["culprit"] else ""
    level, mark = "###" if number == 0 else "####", _MARKS.get(found["severity"], "")
    yield f"{level} {mark} {prose(found['cause'])}{culprit}"
    yield prose(found["says"])
    family = found["family"]
    about = [f"**cause:** {prose(FAMILIES.get(family, 'not established'))} ({prose(family)})"]
    if found["host"]:
        about.append(f"**host:** {code(found['host'])}")
    if found["since"]:
        about.append(f"**since:** {_moment(found['since']):%Y-%m-%d %H:%M:%S} UTC")
    about.append(f"**confidence:** {prose(found['confidence'])}")
    yield " · ".join(about)
    if found["evidence"]:
        yield _table(
            ("when", "who", "what", "where"), map(_row, found["evidence"][:EVIDENCE_SHOWN_MAX])
        )
    if found["do"]:
        yield "**Fix**\n\n" + "\n".join(f"- {prose(step)}" for step in found["do"])
    if found["echoes"]:
        waits = found["severity"] == "notice"
        label = "**Waiting:**" if waits else "**Victims** (consequences, not causes):"
        yield f"{label} {code(task_names([echo['task'] for echo in found['echoes']]))}"


def _taken_back(report: Report) -> Iterator[str]:
    """What was told while the job ran and did not stay true."""
    told, more = accusations_taken_back(report)
    rows = [f"{prose(taken_back_line(one))} (told: {prose(one['says'])})" for one in told]
    rows += [prose(text) for text in (more, pauses_sentence(report)) if text]
    if rows:
        yield "**No longer true**\n\n" + "\n".join(f"- {row}" for row in rows)


def _row(entry: Report) -> tuple[str, ...]:
    return (_clock(entry["at"]), cell(speaker(entry)), cell(entry["text"]), _place(entry))


def _without_cause(report: Report) -> Iterator[str]:
    for why, entries in standing_out(report).items():
        yield f"**Unusual:** {prose(why)}"
        yield _table(("when", "who", "what", "where"), map(_row, entries[:EVIDENCE_SHOWN_MAX]))
    for whose, lines in list(report.get("last_words", {}).items())[:LAST_WORDS_SHOWN_MAX]:
        said = "\n".join(map(plain, lines[-LAST_LINES_SHOWN_MAX:]))
        fence = _fence(said, 3)
        yield f"**Last words of** {code(whose)}\n\n{fence}text\n{said}\n{fence}"


def _timeline(moments: Sequence[Report]) -> Iterator[str]:
    if tells(moments):
        times = clocks(moments)
        rows = (
            (time, cell(speaker(one)), prose(one["role"]), cell(one["text"]), _place(one))
            for one, time in zip(moments[:MOMENTS_SHOWN_MAX], times, strict=False)
        )
        yield f"**{story_title(moments)}**"
        yield _table(("when", "who", "role", "what", "where"), rows)


def _closing(report: Report) -> Iterator[str]:
    if report["healthy"]:
        yield f"**Healthy:** {code(task_names(report['healthy']))}"
    unknown = [prose(text) for text in report["unknown"]]
    unknown += [
        f"our rule {prose(name)} crashed: {prose(why)}" for name, why in report["broken"].items()
    ]
    if unknown:
        yield "**Not known**\n\n" + "\n".join(f"- {text}" for text in unknown)
    if sources := report.get("sources", []):
        yield f"Read: {amount_text(sources)}."


def _table(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _place(entry: Report) -> str:
    line = f":{entry['line']}" if entry["line"] else ""
    return cell(f"{entry['file']}{line}") if entry["file"] else ""


def _clock(at: str | None) -> str:
    return f"{_moment(at):%H:%M:%S}" if at else ""


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso).astimezone(UTC)
