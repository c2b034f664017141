"""Findings as SARIF 2.1.0, which code hosts and editors show beside the text."""

import json
from typing import Any, Final
from urllib.parse import quote

from holdfast import __version__
from holdfast.diagnose import page
from holdfast.views.places import FilePlace, Places, places_in_logs

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "notice": "note", "info": "note"}


def report_sarif(report: dict[str, Any]) -> str:
    """What logs or a journal say: each finding beside the line that proves it."""
    return json.dumps(sarif(report, places_in_logs(report)), indent=1, ensure_ascii=False) + "\n"


def sarif(report: dict[str, Any], places: Places) -> dict[str, Any]:
    """One run; its rules are the causes that were found, each with its page."""
    names = list(dict.fromkeys(finding["cause"] for finding in report["findings"]))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "holdfast",
                        "version": __version__,
                        "rules": [_rule(name) for name in names],
                    }
                },
                "invocations": [_invocation(report)],
                "results": [
                    _result(shown, place, names.index(shown["cause"]))
                    for shown, place in zip(report["findings"], places, strict=True)
                ],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    text = page(name).strip()
    first, _, rest = text.partition("\n")
    return {
        "id": name,
        "shortDescription": {"text": first or name},
        "fullDescription": {"text": first or name},
        "help": {"text": rest.strip() or first or name, "markdown": rest.strip() or first or name},
    }


def _invocation(report: dict[str, Any]) -> dict[str, Any]:
    told = [
        {"level": "error", "message": {"text": f"our rule {name} crashed: {why}"}}
        for name, why in report["broken"].items()
    ]
    told += [{"level": "note", "message": {"text": text}} for text in report["unknown"]]
    return {"executionSuccessful": not report["broken"], "toolExecutionNotifications": told}


def _result(shown: dict[str, Any], place: FilePlace | None, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": shown["cause"],
        "ruleIndex": rule,
        "level": _LEVELS.get(shown["severity"], "note"),
        "message": {"text": "\n".join((shown["says"], *shown["do"]))},
        "properties": {"confidence": shown["confidence"], "culprit": shown["culprit"]},
    }
    if place is not None:
        result["locations"] = [{"physicalLocation": _location(place)}]
    return result


def _location(place: FilePlace) -> dict[str, Any]:
    # A scheme would be read into the first colon of a relative name: it is quoted, too.
    uri = quote(place.file, safe="/", errors="replace")
    location: dict[str, Any] = {
        "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri}
    }
    if place.line:
        location["region"] = {"startLine": place.line}
        if place.column:
            location["region"]["startColumn"] = place.column
    return location
