"""Findings as they are told while a job runs: when they are made, and when they are taken back."""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.model.finding_facts import FindingTakenBack
from holdfast.views.same_fault import same_faults_joined
from holdfast.views.taken_back import taken_back_label, taken_back_sentence


def told_lines(findings: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A notice is one line and accuses nobody; what is wrong comes with what to do."""
    for finding in same_faults_joined(findings):
        if finding["severity"] == "notice":
            yield f"notice: {finding['says']}"
            continue
        yield f"{finding['severity']}[{finding['cause']}]: {finding['says']}"
        yield from (f"   = fix      {fix}" for fix in finding["do"])


def taken_back_lines(fact: FindingTakenBack) -> Iterator[str]:
    """Who was called wrong is told to be well by the words that were used before."""
    label = taken_back_label(fact.severity, held_s=fact.held_s)
    yield f"{label}: {taken_back_sentence(fact.cause, fact.task or '', fact.why)}"
    if fact.severity == "error":
        yield f"   = told     {fact.says}"
