"""Whatever stands in TF_CONFIG: it is read, or its mistake is named with its exact place."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.codec import decode, encode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead, SpecUnreadable
from holdfast.model.spec import (
    EXCERPT_LENGTH_MAX,
    NAME_LENGTH_MAX,
    TASKS_MAX,
    Mistake,
    claimed,
    members,
    read_spec,
)

WHOLE = '{"cluster": {"worker": ["h:1", "h:2"]}, "task": {"type": "worker", "index": 1}}'
CLUSTER = {"worker": {"0": "h:1", "1": "h:2"}}


def read(text: str) -> SpecRead:
    fact = read_spec(text, source="TF_CONFIG")
    assert isinstance(fact, SpecRead), fact
    return fact


def test_reads_a_definition() -> None:
    fact = read_spec(WHOLE, source="a.json", at_s=2.0, host="host-a", pid=7, given=True)
    assert fact == SpecRead(
        at_s=2.0,
        host="host-a",
        task=TaskId("worker", 1),
        source="a.json",
        cluster=CLUSTER,
        role="worker",
        index="1",
        pid=7,
        given=True,
    )


def test_whose_it_is_counts_more_than_what_it_claims() -> None:
    fact = read_spec(WHOLE, source="pid 7", task=TaskId("worker", 0), pid=7)
    assert fact.task == TaskId("worker", 0)
    assert isinstance(fact, SpecRead)
    assert claimed(fact) == TaskId("worker", 1)


def test_an_unreadable_one_still_belongs_to_its_task() -> None:
    fact = read_spec(None, source="TF_CONFIG", task=TaskId("worker", 1), pid=7)
    assert (fact.task, fact.pid) == (TaskId("worker", 1), 7)


def test_lists_and_sparse_clusters_are_the_same() -> None:
    sparse = read('{"cluster": {"worker": {"0": "h:1", "1": "h:2"}}}')
    assert sparse.cluster == read(WHOLE).cluster
    assert members(sparse) == {TaskId("worker", 0): "h:1", TaskId("worker", 1): "h:2"}
    assert claimed(sparse) is None


@pytest.mark.parametrize(
    ("index", "kept", "is_text"), [("1", "1", False), ('"1"', "1", True), ("-1", "-1", False)]
)
def test_an_index_is_kept_as_written(index: str, kept: str, is_text: bool) -> None:  # noqa: FBT001
    fact = read('{"task": {"type": "worker", "index": ' + index + "}}")
    assert (fact.index, fact.index_is_text) == (kept, is_text)


def test_strangers_names_are_kept_and_bounded_and_are_no_tasks() -> None:
    fact = read(json.dumps({"cluster": {"../x\n": ["h\x00"], "worker": {"one": "y" * 400}}}))
    assert fact.cluster["../x\n"] == {"0": "h\x00"}
    assert len(fact.cluster["worker"]["one"]) == NAME_LENGTH_MAX
    assert members(fact) == {}


def test_half_a_character_can_be_written_to_the_journal() -> None:
    fact = read('{"cluster": {"worker": ["\\ud800:1"]}, "task": {"type": "\\udfff", "index": 0}}')
    assert fact.cluster["worker"]["0"] == "?:1"
    assert decode(encode(fact)) == fact


def test_a_secret_does_not_reach_the_journal() -> None:
    fact = read_spec('{"cluster": "grpc://me:hunter2@h:1"}', source="a.json")
    assert isinstance(fact, SpecUnreadable)
    assert "hunter2" not in fact.excerpt


@pytest.mark.parametrize(
    ("text", "mistake", "line", "column"),
    [
        (None, Mistake.UNSET, 0, 0),
        ("", Mistake.EMPTY, 0, 0),
        (" \n\t", Mistake.EMPTY, 0, 0),
        (str(json.loads(WHOLE)), Mistake.PYTHON_DICT, 1, 2),
        ('{"a": True}', Mistake.PYTHON_DICT, 1, 7),
        (f"'{WHOLE}'", Mistake.OUTER_QUOTES, 1, 1),
        (f'\n"{WHOLE}"', Mistake.OUTER_QUOTES, 2, 1),
        (json.dumps(WHOLE), Mistake.OUTER_QUOTES, 1, 1),
        (WHOLE.replace('"', ""), Mistake.LOST_QUOTES, 1, 2),
        ('{"cluster": {"worker": ["h:1",\n]}}', Mistake.TRAILING_COMMA, 1, 30),
        ('{"cluster": {"worker": ["h:1"] , }}', Mistake.TRAILING_COMMA, 1, 32),
        (WHOLE[:-1], Mistake.CUT_OFF, 1, len(WHOLE)),
        (WHOLE[:27] + "\n", Mistake.CUT_OFF, 1, 28),
        ('{"a": tru', Mistake.CUT_OFF, 1, 10),
        ('{"a": -', Mistake.CUT_OFF, 1, 8),
        (WHOLE + "\n  }", Mistake.EXTRA_TEXT, 2, 3),
        ("/etc/tf.json", Mistake.NOT_JSON, 1, 1),
        ("12 34", Mistake.NOT_JSON, 1, 1),
        ('{"task": {"type": "worker}}', Mistake.NOT_JSON, 1, 19),
        ('{"a": 1\n "b": 2}', Mistake.NOT_JSON, 2, 2),
        ("\ufeff" + WHOLE, Mistake.NOT_JSON, 1, 1),
        ("{'a': " + "-" * 100_000 + "1}", Mistake.NOT_JSON, 1, 2),
        ("{'a': '\\d', b}", Mistake.NOT_JSON, 1, 2),
        ('{"task": {},\n "task": {}}', Mistake.DUPLICATE_KEY, 2, 2),
        ('{"cluster": {"ps": [], "ps": []}}', Mistake.DUPLICATE_KEY, 1, 24),
        ('{"cluster": {"ps": {"0": "h:1", "0": "h:2"}}}', Mistake.DUPLICATE_KEY, 1, 33),
        ('{"task": {"index": 0, "index": 1}}', Mistake.DUPLICATE_KEY, 1, 23),
        ("[]", Mistake.NOT_AN_OBJECT, 1, 1),
        (" 7", Mistake.NOT_AN_OBJECT, 1, 2),
        ('"text"', Mistake.NOT_AN_OBJECT, 1, 1),
        ('{"Cluster": {"worker": ["h:1"]}}', Mistake.CLUSTER_MISPLACED, 1, 2),
        ('{"task": {}, "worker": ["h:1"]}', Mistake.CLUSTER_MISPLACED, 1, 14),
        ('{"cluster": null}', Mistake.CLUSTER_NOT_AN_OBJECT, 1, 13),
        ('{"cluster": {"worker": "h:1"}}', Mistake.MEMBERS_NOT_ADDRESSES, 1, 24),
        ('{"cluster": {"worker": ["h:1",\n  2]}}', Mistake.MEMBERS_NOT_ADDRESSES, 2, 3),
        ('{"cluster": {"worker": {"0": NaN}}}', Mistake.MEMBERS_NOT_ADDRESSES, 1, 30),
        ('{"task": "worker:0"}', Mistake.TASK_NOT_AN_OBJECT, 1, 10),
        ('{"task": {"type": 3}}', Mistake.TYPE_NOT_TEXT, 1, 19),
        ('{"task": {"type": null}}', Mistake.TYPE_NOT_TEXT, 1, 19),
        ('{"task": {"index": true}}', Mistake.INDEX_NOT_A_NUMBER, 1, 20),
        ('{"task": {"index": 1.5}}', Mistake.INDEX_NOT_A_NUMBER, 1, 20),
        ('{"task": {"index": "one"}}', Mistake.INDEX_NOT_A_NUMBER, 1, 20),
        ('{"task": {"index": ""}}', Mistake.INDEX_NOT_A_NUMBER, 1, 20),
        ("[" * 50_000, Mistake.TOO_DEEP, 1, 1),
        (" " * (5 << 20), Mistake.TOO_LARGE, 1, 1),
        ("[" + "1," * 200_000, Mistake.TOO_LARGE, 1, 1),
        ('{"cluster": {"ps": [' + '"h:1",' * TASKS_MAX + '"h:1"]}}', Mistake.TOO_MANY_TASKS, 1, 20),
    ],
)
def test_names_the_mistake_and_its_place(
    text: str | None, mistake: Mistake, line: int, column: int
) -> None:
    fact = read_spec(text, source="TF_CONFIG")
    assert isinstance(fact, SpecUnreadable)
    assert (fact.mistake, fact.line, fact.column) == (mistake, line, column)
    assert len(fact.excerpt) <= EXCERPT_LENGTH_MAX
    assert decode(encode(fact)) == fact


def test_a_number_of_any_length_is_read() -> None:
    fact = read('{"task": {"type": "worker", "index": ' + "9" * 5000 + "}}")
    assert (len(fact.index), fact.task) == (NAME_LENGTH_MAX, None)


def test_parts_that_tensorflow_does_not_read_may_hold_anything() -> None:
    text = '{"environment": "cloud", "job": {"a": NaN, "a": [1, -2.5, true]}, "cluster": {}}'
    assert read(text).cluster == {}


def test_a_large_python_dict_is_not_parsed_as_python() -> None:
    text = str({"cluster": {"worker": ["x" * 290] * 1000}})
    fact = read_spec(text, source="TF_CONFIG")
    assert isinstance(fact, SpecUnreadable)
    assert fact.mistake == Mistake.NOT_JSON


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["worker", "ps", "chief", "evaluator", "master", "wroker", "../x"])
PLACES = st.sampled_from(
    ["h:1", "h:2", "g:1", "localhost:1", "0.0.0.0:1", " h:1", "h", "[::1]:1", "h:40000", "\ud800"]
)
INDICES = st.integers(-1, 3) | st.sampled_from(["1", "one", None, True])
SHAPED = st.fixed_dictionaries(
    {
        "cluster": st.dictionaries(NAMES, st.lists(PLACES, max_size=4) | JSON, max_size=3),
        "task": st.fixed_dictionaries({"type": NAMES, "index": INDICES}) | JSON,
    }
)
TEXTS = (
    st.text(max_size=80)
    | JSON.map(json.dumps)
    | SHAPED.map(json.dumps)
    | SHAPED.map(str)
    | st.tuples(SHAPED.map(json.dumps), st.integers(0, 99)).map(lambda cut: cut[0][: cut[1]])
)


@settings(max_examples=200)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_no_text_breaks_the_reader_or_a_cause(texts: list[str], launched: bool) -> None:  # noqa: FBT001
    task = TaskId("worker", 0) if launched else None
    facts = [
        read_spec(text, source=f"{number}.json", task=task, pid=number * launched)
        for number, text in enumerate(texts)
    ]
    assert [decode(encode(fact)) for fact in facts] == facts
    diagnosis = diagnose(Evidence(facts))
    assert not diagnosis.broken
    assert all("\n" not in finding.proof.says for finding in diagnosis.findings)
