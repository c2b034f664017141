"""Findings as workflow commands: GitHub shows them beside the file."""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.views.places import Places, places_in_logs
from holdfast.views.sanitise import plain

_COMMANDS: Final = {"error": "error", "warning": "warning", "notice": "notice", "info": "notice"}


def report_github(report: dict[str, Any]) -> str:
    """What logs or a journal say, beside the lines that prove it."""
    return github_text(report, places_in_logs(report))


def github_text(report: dict[str, Any], places: Places) -> str:
    """One `::error …` for each finding, newline at the end."""
    return "".join(f"{line}\n" for line in _lines(report, places))


def _lines(report: dict[str, Any], places: Places) -> Iterator[str]:
    for shown, place in zip(report["findings"], places, strict=True):
        properties = {"title": shown["cause"]}
        if place is not None:
            properties = {
                "file": plain(place.file),
                **({"line": str(place.line)} if place.line else {}),
                **({"col": str(place.column)} if place.line and place.column else {}),
                **properties,
            }
        told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        says = "; ".join((shown["says"], *shown["do"]))
        yield f"::{_COMMANDS.get(shown['severity'], 'notice')} {told}::{_message(says)}"
    for name, why in report["broken"].items():
        yield f"::warning title=holdfast::{_message(f'our rule {name} crashed: {why}')}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
