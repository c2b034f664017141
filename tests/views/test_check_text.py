"""The page of `holdfast check`, laid out from made-up facts."""

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.model import facts
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Diagnosis, Finding, Proof, Severity, Verdict
from holdfast.model.remedies import AskHuman
from holdfast.views import categories as module
from holdfast.views.categories import OK, Category, categories, category_of
from holdfast.views.check_text import check_text, summary_text
from holdfast.views.report import report
from holdfast.views.sanitise import cells

HERE: dict[str, Any] = {"at_s": 1.0, "host": "host-a"}
SPEC = facts.SpecRead(
    source="a.json", cluster={"worker": {"0": "gpu-1:2222", "1": "gpu-2:2222"}}, **HERE
)
OTHER = facts.SpecRead(
    source="b.json", cluster={"worker": {"0": "gpu-1:2222", "1": "gpu-3:2222"}}, **HERE
)
HOST = facts.HostMeasured(
    cpus=8, memory_bytes=2**35, memory_free_bytes=2**34, tasks=("worker:0",), **HERE
)
REFUSED = facts.PathProbed(
    address="gpu-2:2222", outcome="refused", target=TaskId("worker", 1), **HERE
)
SPEEDS = [
    facts.PathMeasured(address=f"gpu-{n}:2222", tries=20, lost=n, p50_s=0.0003, p99_s=0.02, **HERE)
    for n in (1, 2)
]


def detect(evidence: Evidence) -> Iterator[Proof]:
    return iter(())


detect.__module__ = "holdfast.catalogue.network.made_up"


def finding(
    name: str, *seen: Fact, severity: Severity = Severity.ERROR, says: str = "it is wrong"
) -> Finding:
    cause = Cause(
        family="unknown", detect=detect, remedy=AskHuman(), severity=severity, preview=False
    )
    proof = Proof(
        facts=seen, says=says, culprit=None, do=("run this", "or that"), confidence=Confidence.HIGH
    )
    return Finding(name=name, cause=cause, proof=proof)


def page(
    seen: list[Fact],
    *found: Finding,
    width: int = 100,
    verbose: bool = False,
    colour: bool = False,
    skipped: dict[str, str] | None = None,
    broken: dict[str, str] | None = None,
) -> str:
    evidence = Evidence(seen)
    verdict = Verdict.SICK if found else Verdict.HEALTHY
    diagnosis = Diagnosis(verdict=verdict, findings=found, broken=broken or {})
    rows = categories(evidence, diagnosis, skipped=skipped or {})
    shown = report(diagnosis, evidence, log_name=lambda *_: "")
    return check_text(
        shown,
        rows,
        summary=summary_text(shown, rows, about="2 tasks on 2 hosts, in 1.8 s"),
        verbose=verbose,
        width=width,
        colour=colour,
    )


def test_all_well_is_one_line_for_each_category() -> None:
    text = page([SPEC, HOST, REFUSED])
    assert "✓ Definition  2 tasks: worker:0 worker:1\n" in text
    assert "✓ Host        host-a, 8 CPUs; holds worker:0\n" in text
    assert "✓ Memory      16.0 GiB of 32.0 GiB free\n" in text
    assert "✓ Paths       1 reachable, not started yet\n" in text
    assert "· Agreement   only one definition is known" in text
    assert text.endswith("\nnothing wrong was found: 2 tasks on 2 hosts, in 1.8 s\n")


def test_an_error_and_a_warning_are_told_below_their_category() -> None:
    text = page(
        [SPEC, OTHER],
        finding("spec-differs", SPEC, OTHER, says="they differ"),
        finding("made-up", SPEC, severity=Severity.WARNING),
    )
    assert (
        "✗ Agreement   2 definitions that say 2 different things\n"
        "    error[spec-differs]: they differ (high)\n"
        "      fix  run this\n"
        "           or that\n"
        "              a.json      b.json\n"
        "    worker:1  gpu-2:2222  gpu-3:2222\n"
    ) in text
    assert "! Paths       no address to look at\n    warning[made-up]: it is wrong (high)" in text
    assert text.endswith(
        "\n1 error and 1 warning in 2 of 5 categories; `holdfast explain CAUSE` tells more\n"
    )


def test_a_note_is_not_a_reason_to_worry() -> None:
    note = finding("made-up", SPEC, severity=Severity.INFO)
    text = page([SPEC], note)
    assert "note[made-up]" not in text
    assert "nothing wrong was found: 2 tasks on 2 hosts, in 1.8 s (1 note: -v)" in text
    assert "note[made-up]" in page([SPEC], note, verbose=True)


def test_categories_left_out_for_one_reason_share_a_line() -> None:
    skipped = dict.fromkeys(("Host", "Ports", "Memory"), "not looked at (--offline)")
    text = page([SPEC], skipped=skipped)
    assert "· Host, Ports, Memory: not looked at (--offline)\n" in text


def test_a_probe_that_could_not_look_says_why() -> None:
    blind = facts.ProbeBlind(probe="versions of python3", why="no such program", **HERE)
    assert "· Versions    no such program\n" in page([SPEC, blind])


def test_a_broken_rule_is_told_and_nothing_is_called_well() -> None:
    text = page([SPEC], broken={"odd": "KeyError('x')"})
    assert "our rule odd crashed, so it proves nothing: KeyError('x')" in text
    assert "nothing wrong was found" not in text


def test_nothing_seen_is_not_called_well() -> None:
    assert page([]).endswith("\nnothing could be looked at, so nothing is known\n")


def test_verbose_shows_each_fact_once_and_latencies_as_a_table() -> None:
    text = page([SPEC, HOST, REFUSED, *SPEEDS], verbose=True)
    assert text.count("a.json has a cluster of 2 worker") == 1
    assert text.count("8 CPUs, 16.0 GiB of 32.0 GiB memory free, for worker:0") == 1
    assert "    - worker:1  gpu-2:2222\n" in text
    assert "    to    address     median  p99    lost\n" in text
    assert "gpu-2:2222  0.3 ms  20 ms  2/20\n" in text


@pytest.mark.parametrize("width", [20, 60, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_row_is_wider_than_the_terminal(width: int, verbose: bool) -> None:  # noqa: FBT001
    said = "a long sentence of many words " * 8 + "x" * 70
    seen = [SPEC, OTHER, HOST, REFUSED, *SPEEDS]
    text = page(seen, finding("spec-differs", SPEC, says=said), width=width, verbose=verbose)
    assert max(cells(row) for row in text.splitlines()) <= max(width, 40)


def test_colour_marks_only_and_carries_no_meaning_alone() -> None:
    found = finding("made-up", SPEC)
    plain_text = page([SPEC, HOST], found)
    coloured = page([SPEC, HOST], found, colour=True)
    assert "\x1b" not in plain_text
    assert "\x1b[1;31m✗\x1b[0m Paths" in coloured
    assert "\x1b[32m✓\x1b[0m Host" in coloured


def test_strangers_words_cannot_touch_the_terminal() -> None:
    evil = "\x1b]0;x\x07\u202e\x9b2J"
    spec = facts.SpecRead(
        source=evil, cluster={evil: {"0": evil}, "worker": {"0": f"{evil}:1"}}, **HERE
    )
    path = facts.PathProbed(address=evil, outcome=evil, says=evil, **HERE)
    text = page([spec, path], finding("made-up", spec, says=evil), verbose=True)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)


def test_many_findings_are_cut_and_counted() -> None:
    text = page([SPEC], *(finding("made-up", SPEC, says=f"number {n}") for n in range(50)))
    assert "number 19" in text
    assert "number 20" not in text
    assert "… and 30 more: --format json has them all" in text


def test_a_cause_without_a_category_goes_by_its_folder() -> None:
    assert category_of(finding("made-up", SPEC)) == "Paths"
    assert category_of(finding("port-conflict", SPEC)) == "Ports"


def test_every_category_named_in_a_table_exists() -> None:
    names = {
        row.name
        for row in categories(
            Evidence([]), Diagnosis(verdict=Verdict.HEALTHY, broken={}), skipped={}
        )
    }
    told = {*module.CATEGORY_OF_CAUSE.values(), *module.CATEGORY_OF_FOLDER.values()}
    assert told | {name for _, name in module.CATEGORY_OF_PROBE} <= names


def test_records_of_several_hosts_are_told_together() -> None:
    second = facts.HostMeasured(
        at_s=1.0, host="host-b", cpus=4, memory_bytes=2**34, memory_free_bytes=2**30
    )
    clock = facts.ClockMeasured(against="nas", offset_s=-3.0, **HERE)
    rows = categories(
        Evidence([SPEC, HOST, second, clock]),
        Diagnosis(verdict=Verdict.HEALTHY, broken={}),
        skipped={},
    )
    says = {row.name: row.says for row in rows if isinstance(row, Category)}
    assert says["Host"] == "2 hosts: host-a, host-b; holds worker:0"
    assert says["Memory"] == "1.0 GiB of 16.0 GiB free on host-b, the fullest of 2 hosts"
    assert says["Clock"] == "at most 3 s away from nas"


def test_a_notice_is_no_reason_to_call_it_wrong() -> None:
    made: dict[str, Any] = {"findings": [{"severity": "notice"}], "broken": {}, "unknown": []}
    rows = [Category(name="Ports", state=OK, says="x")]
    assert summary_text(made, rows, about="2 tasks") == (
        "nothing wrong was found: 2 tasks (and a notice above)"
    )
