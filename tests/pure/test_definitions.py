"""Many definitions are compared at once, and a sentence names only the first of them."""

import time

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.definitions import by_culprit, clauses, newest, owners, shown
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, SpecRead
from holdfast.model.findings import Finding

SPECS, TASKS = 100, 2_000
COMPARED_S_MAX = 20.0  # it takes some tenths; a loaded machine takes longer


def spec(number: int, *addresses: str, source: str = "", host: str = "host-a") -> SpecRead:
    return SpecRead(
        at_s=float(number),
        host=host,
        task=TaskId("worker", number),
        source=source or f"worker-{number}.json",
        cluster={"worker": {str(index): each for index, each in enumerate(addresses)}},
        role="worker",
        index=str(number),
    )


def found(name: str, facts: list[Fact]) -> list[Finding]:
    return [each for each in diagnose(Evidence(facts)).findings if each.name == name]


def test_clauses_name_three() -> None:
    assert clauses(["a", "b"]) == "a; b"
    assert clauses(["a", "b", "c", "d"]) == "a; b; c; and 1 more like these"


def test_strangers_texts_stay_on_one_line_and_short() -> None:
    assert shown("a\nb") == "a\\nb"
    assert len(shown("x" * 400)) == 60


def test_hosts_are_named_when_there_are_several() -> None:
    here, there = spec(0, "h:1"), spec(1, "h:1", host="host-b")
    assert owners([here]) == "worker-0.json (worker:0)"
    assert owners([here, there]).endswith("worker-1.json (worker:1) on host-b")


def test_a_host_that_nobody_knows_is_not_named() -> None:
    said = owners([spec(0, "h:1", host=""), spec(1, "h:1", host="host-b")])
    assert said == "worker-0.json (worker:0) and worker-1.json (worker:1) on host-b"


def test_one_machine_is_known_by_its_name_and_not_by_the_numbers_of_another() -> None:
    by_name = [spec(0, "localhost:1", "host-a.example.org:2"), spec(1, "localhost:1", "HOST-A:2")]
    assert not found("spec-loopback", list(by_name))
    by_number = [spec(0, "localhost:1", "10.0.0.7:2", host="10.0.0.8")]
    assert found("spec-loopback", list(by_number))


def test_a_source_read_again_counts_once_with_its_last_word() -> None:
    first, second = spec(0, "h:1"), spec(0, "h:2")
    assert newest([first, second]) == [second]


def test_when_many_make_a_mistake_no_single_one_is_to_blame() -> None:
    specs = [spec(number, "h:1") for number in range(4)]
    assert list(by_culprit(specs[:3])) == [each.task for each in specs[:3]]
    assert by_culprit(specs) == {None: specs}


def test_five_that_agree_against_five_others_are_no_culprits() -> None:
    facts: list[Fact] = [spec(n, "h:1", "g:1") for n in range(6)]
    facts += [spec(n, "h:1", "g:2") for n in range(6, 10)]
    differs = found("spec-differs", facts)
    assert [finding.proof.culprit for finding in differs] == [None]
    assert "and 1 more looks for worker:1 at g:2" in differs[0].proof.says


def test_a_task_may_call_itself_localhost_on_its_real_port() -> None:
    mine, theirs = spec(0, "localhost:1", "g:1"), spec(1, "h:1", "g:1")
    assert found("spec-differs", [mine, theirs]) == []
    assert found("spec-loopback", [mine, theirs]) == []


def test_a_task_that_calls_itself_localhost_on_another_port_is_not_found() -> None:
    mine, theirs = spec(0, "localhost:2", "g:1"), spec(1, "h:1", "g:1")
    assert len(found("spec-differs", [mine, theirs])) == 1


def test_a_task_that_all_call_localhost_differs_for_nobody() -> None:
    mine, theirs = spec(0, "localhost:1", "g:1"), spec(1, "localhost:1", "g:1")
    assert found("spec-differs", [mine, theirs]) == []
    assert len(found("spec-loopback", [mine, theirs])) == 1


@pytest.mark.parametrize("all_differ", [False, True])
def test_hundreds_of_definitions_of_thousands_of_tasks_are_compared_at_once(
    *, all_differ: bool
) -> None:
    addresses = [f"h{index}:2222" for index in range(TASKS)]
    facts: list[Fact] = []
    for number in range(SPECS):
        mine = list(addresses)
        if all_differ:
            mine[number] = f"h{number}:2223"
        facts.append(spec(number, *(f"{each}" for each in mine)))
    evidence = Evidence(facts)
    began_s = time.process_time()
    diagnosis = diagnose(evidence)
    assert time.process_time() - began_s < COMPARED_S_MAX
    assert bool(diagnosis.findings) == all_differ
