"""The report as a page: whole, harmless, and complete in itself."""

import base64
import hashlib
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis
from holdfast.views.html import report_html
from holdfast.views.report import report

Made = Callable[..., dict[str, Any]]
VOID = {"meta", "br"}
OURS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer"),
    *("h1", "h2", "h3", "p", "div", "span", "b", "ul", "li", "time", "pre", "br", "details"),
    *("summary", "table", "tr", "th", "td", "svg", "line", "circle"),
}
EVIL = [
    "<script>alert(1)</script>",
    "</style></title><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "&lt;b&gt; &amp;",
    "<!-- -->",
    "]]>",
    "\x00\x1b[31m\u202e",
]


class Page(HTMLParser):
    """What a browser would make of it: elements, attributes, texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all_text(self) -> str:
        return "\n".join(
            text for tag, texts in self.texts.items() if tag != "style" for text in texts
        )


def test_the_whole_story_is_there(from_logs: Made) -> None:
    page = Page(report_html(from_logs()))
    assert page.texts["title"] == ["Holdfast: disk-full at ps:0", *page.texts["title"][1:]]
    assert page.texts["h1"] == ["ps:0 could not write at /data/ckpt-40: the disk is full"]
    for said in ("free space: df -h /data", "ps-0.err:120", "18:02:59.2", "worker:0 worker:1"):
        assert said in page.all_text()
    assert page.tags.count("svg") == len({"ps:0", "worker:0", "worker:1"})
    assert page.tags.count("circle") == len(from_logs()["timeline"])


def test_it_fetches_nothing_and_runs_nothing(from_logs: Made) -> None:
    html = report_html(from_logs())
    page = Page(html)
    assert set(page.tags) <= OURS
    assert not {name for _, name, _ in page.attributes} & {"src", "href", "style", "onclick"}
    assert "url(" not in html
    assert "@import" not in html
    (style,) = page.texts["style"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(
        value for _, name, value in page.attributes if name == "content" and "src" in value
    )
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy


@pytest.mark.parametrize("evil", EVIL)
def test_strangers_text_stays_text_wherever_it_stands(from_logs: Made, evil: str) -> None:
    calm, told = (report_html(_everywhere(from_logs(), text)) for text in ("calm", evil))
    assert Page(told).tags == Page(calm).tags
    assert [(tag, name) for tag, name, _ in Page(told).attributes] == [
        (tag, name) for tag, name, _ in Page(calm).attributes
    ]
    assert not set("\x00\x1b\u202e") & set(told)


@given(st.text(max_size=40))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None
)
def test_any_text_is_shown_as_it_is(from_logs: Made, text: str) -> None:
    Page(report_html(from_logs(last=text)))


def test_without_times_there_are_no_lanes_but_still_who_was_first(from_logs: Made) -> None:
    made = from_logs(dated=False)
    for moment in made["timeline"]:
        moment["at_s"] = 0.0
    page = Page(report_html(made))
    assert "svg" not in page.tags
    assert "Whose words are the cause, and whose only echo it" in page.all_text()


def test_without_dates_the_seconds_since_the_start_are_told(from_logs: Made) -> None:
    page = Page(report_html(from_logs(dated=False)))
    assert "+42.1 s" in page.all_text()


def test_cannot_tell_shows_the_last_words(unexplained: tuple[Diagnosis, Evidence]) -> None:
    diagnosis, seen = unexplained
    made = report(diagnosis, seen, log_name=lambda *_: "x")
    made["unusual"] = [made["timeline"][0] | {"why": "the first trouble"}]
    page = Page(report_html(made))
    assert page.texts["h1"] == ["Nothing that was seen proves a cause"]
    assert "Traceback (most" in page.texts["pre"]
    assert "Unusual, without being a proof" in page.texts["h2"]


def test_a_sick_run_with_a_warning_shows_both(sick: Diagnosis, evidence: Evidence) -> None:
    page = Page(report_html(report(sick, evidence, log_name=lambda *_: "x")))
    assert " disk-nearly-full" in page.texts["h2"]
    assert "only 0.9 GiB is left on the disk that holds the logs." in page.texts["p"]
    assert "our rule grpc-odd crashed: KeyError('x')" in page.texts["li"]


def test_a_healthy_job_is_said_to_be_well(from_logs: Made) -> None:
    made = from_logs() | {"verdict": "healthy", "findings": [], "healthy": ["ps:0"]}
    assert Page(report_html(made)).texts["h1"] == [
        "Nothing wrong was found in 4 files (3,601 lines)"
    ]


def _everywhere(value: Any, text: str, key: str = "") -> Any:
    """The report with one text in all places that a stranger could have written."""
    if isinstance(value, dict):
        return {name: _everywhere(inner, text, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_everywhere(inner, text, key) for inner in value]
    ours = key in {"at", "since", "verdict", "schema", "role", "severity"}
    return text if isinstance(value, str) and not ours else value
