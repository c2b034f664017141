"""Where in which file a finding points: for tools that show findings beside the text."""

from collections.abc import Collection
from dataclasses import dataclass

from holdfast.model.facts import SpecRead, SpecUnreadable
from holdfast.model.findings import Finding


@dataclass(frozen=True, slots=True)
class FilePlace:
    file: str
    line: int = 0  # counted from 1; 0 is unknown
    column: int = 0


def place_in_file(finding: Finding, files: Collection[str]) -> FilePlace | None:
    """The first of its facts that was read from one of the files; None: it is about no file."""
    for fact in finding.proof.facts:
        if isinstance(fact, SpecUnreadable) and fact.source in files:
            return FilePlace(fact.source, fact.line, fact.column)
    for fact in finding.proof.facts:
        if isinstance(fact, SpecRead) and fact.source in files:
            return FilePlace(fact.source)
    return None
