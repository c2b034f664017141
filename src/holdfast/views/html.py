"""The report as one HTML file that fetches nothing and runs nothing."""

import base64
import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

from holdfast import __version__
from holdfast.model.families import FAMILIES
from holdfast.model.words import bytes_text
from holdfast.views.file_names import with_short_names
from holdfast.views.same_fault import with_same_faults_joined
from holdfast.views.sanitise import plain
from holdfast.views.story import (
    clocks,
    in_order,
    speaker,
    standing_out,
    stood_still,
    story_title,
    tells,
    unfinished,
)
from holdfast.views.taken_back import (
    accusations_taken_back,
    pauses_sentence,
    taken_back_line,
)
from holdfast.views.task_names import task_names
from holdfast.views.text import amount_text

SOURCES_SHOWN_MAX: Final = 200
_VERDICTS: Final = {"healthy": "Healthy", "sick": "Sick", "cannot-tell": "Cannot tell"}
_ROLES: Final = {"first": "first", "echo": "echo", "end": "end", "noise": "noise"}
_SEVERITIES: Final = frozenset({"error", "warning", "notice", "info"})

Report = dict[str, Any]
Child = ET.Element | str


def report_html(report: Report) -> str:
    """The whole page. Every text is escaped by the serializer: no markup is ever put together."""
    report = with_same_faults_joined(with_short_names(report))
    style = resources.files("holdfast.views").joinpath("report.css").read_text()
    head = _tag(
        "head",
        _tag("meta", charset="utf-8"),
        _tag("meta", {"http-equiv": "Content-Security-Policy", "content": _policy(style)}),
        _tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _tag("meta", name="referrer", content="no-referrer"),
        _tag("title", f"Holdfast: {_title(report)}"),
    )
    ET.SubElement(head, "style").text = style  # the one text that is ours and not escaped
    page = _tag("html", head, _tag("body", _tag("main", *_sections(report))), lang="en")
    return "<!DOCTYPE html>\n" + ET.tostring(page, encoding="unicode", method="html") + "\n"


def _policy(style: str) -> str:
    """Nothing but our own style, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _tag(
    name: str, attributes: dict[str, str] | Child | None = None, /, *children: Child, **more: str
) -> ET.Element:
    """An element; strings in it are texts, sanitised here and escaped when they are written."""
    inside = list(children)
    if attributes is not None and not isinstance(attributes, dict):
        inside, attributes = [attributes, *inside], None
    named = {("class" if key == "of" else key): value for key, value in more.items()}
    element = ET.Element(name, {**(attributes or {}), **named})
    for child in inside:
        if isinstance(child, ET.Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + plain(child)
        else:
            element.text = (element.text or "") + plain(child)
    return element


def _title(report: Report) -> str:
    if not report["findings"]:
        return _VERDICTS.get(report["verdict"], "Unknown")
    root = report["findings"][0]
    at = f" at {root['culprit']}" if root["culprit"] else ""
    return f"{root['cause']}{at}"


def _sections(report: Report) -> list[ET.Element]:
    findings = report["findings"]
    made = [_header(report)]
    made += [_finding(found, told=()) for found in findings[:1]]
    made += _timeline(report.get("timeline", []))
    made += [_finding(found, told=(_tag("p", found["says"]),)) for found in findings[1:]]
    made += _taken_back(report)
    made += _without_cause(report)
    made += _recovery(report.get("recovery", []))
    made += _stopped(report.get("stopped"))
    made += _unknown(report)
    made += _sources(report.get("sources", []))
    made.append(_tag("footer", f"Holdfast {__version__} · {report['schema']} · times in UTC"))
    return made


def _recovery(done: Sequence[Report]) -> list[ET.Element]:
    """What was done about failures, attempt by attempt."""
    if not done:
        return []
    rows = []
    for one in done:
        parts = [f"attempt {one['attempt']}: {one['did']}", "" if one["done"] else "not done"]
        parts += [one["why"], one["checkpoint"] or ""]
        parts += [f"{name} {value:.1f} s" for name, value in one["seconds"].items()]
        rows.append(_tag("li", " · ".join(part for part in parts if part)))
    return [_tag("section", _tag("h2", "Recovery"), _tag("ul", *rows))]


def _stopped(stopped: Report | None) -> list[ET.Element]:
    """Who asked for the end, and what was saved after that."""
    if stopped is None:
        return []
    says = _tag("p", stopped["says"])
    return [_tag("section", _tag("h2", f"Stopped by {stopped['by']}"), says)]


def _header(report: Report) -> ET.Element:
    verdict = report["verdict"]
    done = report.get("done")
    name = "Done" if done and verdict == "healthy" else _VERDICTS.get(verdict, "Unknown")
    pill = _tag("span", name, of=f"pill {verdict}")
    says = report["findings"][0]["says"] if report["findings"] else _calm(report)
    still = (
        [_tag("p", f"{still[:1].upper()}{still[1:]}.")] if (still := stood_still(report)) else []
    )
    if done:
        still.append(_tag("p", f"{done['says'].capitalize()}: {done['by']} finished the training."))
    return _tag("header", pill, _tag("h1", says), *still)


def _calm(report: Report) -> str:
    sources = report.get("sources", [])
    where = f" in {amount_text(sources)}" if sources else ""
    if report["verdict"] == "healthy":
        return f"Nothing wrong was found{where}"
    if gap := unfinished(report):
        return f"{gap[0].upper()}{gap[1:]}"
    return f"Nothing that was seen{where} proves a cause"


def _finding(found: Report, *, told: Sequence[ET.Element]) -> ET.Element:
    """One finding; what the root cause says stands above it already."""
    severity = _severity(found)
    section = _tag(
        "section",
        _tag("h2", _tag("span", severity, of=f"pill {severity}"), f" {found['cause']}"),
        *told,
        _about(found),
    )
    if found["do"]:
        steps = [_tag("li", step) for step in found["do"]]
        section.append(_tag("h3", "What to do"))
        section.append(_tag("ul", *steps, of="fix"))
    if found["evidence"]:
        section.append(_tag("h3", "Evidence"))
        section.append(_tag("div", *map(_evidence, found["evidence"]), of="rows evidence"))
    if found["echoes"]:
        waits = found["severity"] == "notice"
        section.append(_tag("h3", "Waiting" if waits else "Victims: consequences, not causes"))
        section.append(_tag("ul", *map(_victims, _by_cause(found["echoes"]).items())))
    return section


def _severity(found: Report) -> str:
    return found["severity"] if found["severity"] in _SEVERITIES else "info"


def _taken_back(report: Report) -> list[ET.Element]:
    """What was told while the job ran and did not stay true."""
    told, more = accusations_taken_back(report)
    rows = []
    for one in told:
        was = _tag("div", f"told: {one['says']}", of="about")
        rows.append(_tag("li", taken_back_line(one), was))
    rows += [_tag("li", more)] if more else []
    if pauses := pauses_sentence(report):
        rows.append(_tag("li", pauses))
    return [_tag("section", _tag("h2", "No longer true"), _tag("ul", *rows))] if rows else []


def _about(found: Report) -> ET.Element:
    family = found["family"]
    whose = "waited for" if found["severity"] == "notice" else "culprit"
    told = [(whose, found["culprit"] or "nobody in particular")]
    told += [("host", found["host"])] if found["host"] else []
    told += [("since", f"{_moment(found['since']):%Y-%m-%d %H:%M:%S}")] if found["since"] else []
    told += [("confidence", found["confidence"])]
    told += [("kind", f"{FAMILIES.get(family, 'not established')} ({family})")]
    line = _tag("p", of="about")
    for number, (name, value) in enumerate(told):
        line.append(_tag("span", f"{' · ' if number else ''}{name} ", _tag("b", value)))
    return line


def _by_cause(echoes: Sequence[Report]) -> dict[str, list[str]]:
    by_cause: dict[str, list[str]] = {}
    for echo in echoes:
        by_cause.setdefault(echo["cause"], []).append(echo["task"])
    return by_cause


def _victims(group: tuple[str, list[str]]) -> ET.Element:
    cause, tasks = group
    return _tag("li", _tag("b", task_names(tasks)), f" ({cause})")


def _evidence(entry: Report) -> ET.Element:
    return _tag(
        "div",
        _tag("time", _clock(entry["at"])),
        _tag("span", speaker(entry), of="who"),
        _tag("div", entry["text"], *_where(entry), of="said"),
        of="row",
    )


def _where(entry: Report) -> list[ET.Element]:
    if not entry["file"]:
        return []
    line = f":{entry['line']}" if entry["line"] else ""
    return [_tag("span", f"{entry['file']}{line}", of="where")]


def _timeline(moments: Sequence[Report]) -> list[ET.Element]:
    if not tells(moments):
        return []
    rows = [
        _tag(
            "div",
            _tag("time", time),
            _tag("span", speaker(moment), of="who"),
            _tag("span", moment["role"], of=f"role {_role(moment)}"),
            _tag("div", moment["text"], *_where(moment), of="said"),
            of="row",
        )
        for moment, time in zip(moments, clocks(moments), strict=True)
    ]
    drawn = [_lanes(moments)] if in_order(moments) else []
    title = _tag("h2", story_title(moments))
    return [_tag("section", title, *drawn, _tag("div", *rows, of="rows"))]


def _lanes(moments: Sequence[Report]) -> ET.Element:
    """A lane for each task, in the order of their first word; the steps are not to scale."""
    lanes: dict[str, list[int]] = {}
    for number, moment in enumerate(moments):
        lanes.setdefault(speaker(moment), []).append(number)
    drawn: list[ET.Element] = []
    for name, numbers in lanes.items():
        drawn += [_tag("span", {"title": plain(name)}, name), _lane(moments, numbers)]
    times = clocks(moments)
    ends = (times[0], "in this order, not to scale", times[-1])
    axis = _tag("div", *(_tag("span", text) for text in ends), of="axis")
    return _tag("div", *drawn, _tag("span"), axis, of="lanes")


def _lane(moments: Sequence[Report], numbers: Sequence[int]) -> ET.Element:
    def place(number: int) -> str:
        return f"{100 * (number + 0.5) / len(moments):.2f}%"

    line = _tag("line", x1="0", x2=place(numbers[-1]), y1="50%", y2="50%")
    dots = []
    for number in numbers:
        moment = moments[number]
        says = f"{moment['role']}: {moment['text']}"
        shape = {"cx": place(number), "cy": "50%", "r": "6" if moment["role"] == "first" else "4.5"}
        dots.append(_tag("circle", shape, _tag("title", says), of=_role(moment)))
    return _tag("svg", line, *dots, role="img")


def _role(moment: Report) -> str:
    return f"is-{_ROLES.get(moment['role'], 'end')}"


def _without_cause(report: Report) -> list[ET.Element]:
    made = []
    unusual = [
        part
        for why, entries in standing_out(report).items()
        for part in (_tag("h3", why), _tag("div", *map(_evidence, entries), of="rows evidence"))
    ]
    if unusual:
        made.append(_tag("section", _tag("h2", "Unusual, without being a proof"), *unusual))
    said = [
        part
        for whose, lines in report.get("last_words", {}).items()
        for part in (_tag("p", _tag("b", whose)), _tag("pre", *_joined(lines or ["(nothing)"])))
    ]
    if said:
        made.append(_tag("section", _tag("h2", "Last words"), *said))
    return made


def _joined(lines: Sequence[str]) -> Iterable[Child]:
    """Line by line: a text loses the ends of its lines when it is sanitised."""
    for line in lines:
        yield line
        yield _tag("br")


def _unknown(report: Report) -> list[ET.Element]:
    told = [_tag("li", text) for text in report["unknown"]]
    told += [
        _tag("li", f"our rule {name} crashed: {why}") for name, why in report["broken"].items()
    ]
    made = [_tag("section", _tag("h2", "Not known"), _tag("ul", *told))] if told else []
    if report["healthy"]:
        names = _tag("p", task_names(report["healthy"]))
        made.append(_tag("section", _tag("h2", "Healthy"), names))
    return made


def _sources(sources: Sequence[Report]) -> list[ET.Element]:
    if not sources:
        return []
    heads = _tag(
        "tr", _tag("th", "file"), _tag("th", "task"), _number("th", "lines"), _number("th", "size")
    )
    rows = [
        _tag(
            "tr",
            _tag("td", source["file"]),
            _tag("td", source["task"] or "not known"),
            _number("td", f"{source['lines']:,}"),
            _number("td", bytes_text(source["bytes"])),
        )
        for source in sources[:SOURCES_SHOWN_MAX]
    ]
    summary = _tag("summary", f"What was read: {amount_text(sources)}")
    return [_tag("section", _tag("details", summary, _tag("table", heads, *rows)))]


def _number(name: str, text: str) -> ET.Element:
    return _tag(name, text, of="number")


def _clock(at: str | None) -> str:
    if not at:
        return ""
    moment = _moment(at)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 100_000}"


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso).astimezone(UTC)
