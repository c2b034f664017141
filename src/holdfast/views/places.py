"""Where in which file a finding points: for tools that show findings beside the text."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from holdfast.model.facts import SpecRead, SpecUnreadable
from holdfast.model.findings import Diagnosis, Finding


@dataclass(frozen=True, slots=True)
class FilePlace:
    file: str
    line: int = 0  # counted from 1; 0 is unknown
    column: int = 0


Places = list[FilePlace | None]  # one for each finding; None: it is about no file


def places_in_definitions(diagnosis: Diagnosis, files: Collection[str]) -> Places:
    """The first of a finding's facts that was read from one of the files."""
    return [_place(finding, files) for finding in diagnosis.findings]


def places_in_logs(report: dict[str, Any]) -> Places:
    """The first of a finding's lines that stands in a log."""
    cited = ([one for one in found["evidence"] if one["file"]] for found in report["findings"])
    return [FilePlace(ones[0]["file"], ones[0]["line"] or 0) if ones else None for ones in cited]


def _place(finding: Finding, files: Collection[str]) -> FilePlace | None:
    for fact in finding.proof.facts:
        if isinstance(fact, SpecUnreadable) and fact.source in files:
            return FilePlace(fact.source, fact.line, fact.column)
    for fact in finding.proof.facts:
        if isinstance(fact, SpecRead) and fact.source in files:
            return FilePlace(fact.source)
    return None
