"""What the journal holds is what was seen, whichever Holdfast wrote it."""

import json
import string
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import facts, recovery_facts, watch_facts
from holdfast.model.cluster import TaskId
from holdfast.model.codec import decode, encode
from holdfast.model.errors import BadInput
from holdfast.model.facts import Fact, LogLine, TaskExited, UnknownFact
from holdfast.model.watch_facts import ThreadStack

KINDS = [
    kind
    for kind in {**vars(facts), **vars(recovery_facts), **vars(watch_facts)}.values()
    if isinstance(kind, type) and issubclass(kind, Fact) and kind not in {Fact, UnknownFact}
]
names = st.text(string.ascii_lowercase, min_size=1, max_size=8)
tasks = st.builds(TaskId, names, st.integers(0, 999_999))
texts = st.text(max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-(2**53), 2**53),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    NoneType: st.none(),
    TaskId: tasks,
    tuple[str, ...]: st.lists(texts, max_size=3).map(tuple),
    tuple[int, ...]: st.lists(st.integers(0, 65_535), max_size=3).map(tuple),
    tuple[ThreadStack, ...]: st.lists(
        st.builds(ThreadStack, thread=st.integers(0, 2**53), frames=st.lists(texts).map(tuple)),
        max_size=3,
    ).map(tuple),
    Mapping[str, str]: st.dictionaries(names, texts, max_size=3),
    Mapping[str, float]: st.dictionaries(names, st.floats(0, 99), max_size=3),
    Mapping[str, int]: st.dictionaries(names, st.integers(0, 2**64 - 1), max_size=3),
    Mapping[str, Mapping[str, str]]: st.dictionaries(
        names, st.dictionaries(names, texts, max_size=3), max_size=3
    ),
}


def any_fact(kind: type[Fact]) -> st.SearchStrategy[Fact]:
    """Facts of one kind with any value in every field that the codec writes."""
    hints = get_type_hints(kind)
    values = {
        field.name: st.one_of([VALUES[one] for one in _each_type(hints[field.name])])
        for field in fields(kind)
        if field.name != "extra"
    }
    return st.builds(kind, **values)


def _each_type(hint: Any) -> tuple[Any, ...]:
    return (hint,) if hint in VALUES else get_args(hint)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_decode_undoes_encode(kind: type[Fact]) -> None:
    @given(any_fact(kind))
    def every_fact_comes_back(fact: Fact) -> None:
        line = encode(fact)
        assert b"\n" not in line
        assert decode(line) == fact

    every_fact_comes_back()


@given(
    st.fixed_dictionaries(
        {"fact": st.sampled_from(["LogLine", "GpuMeasured"]), "at_s": st.just(1.5)},
        optional={"v": st.integers(1, 9), "task": st.just("ps:0")},
    ),
    st.dictionaries(st.sampled_from(["kind", "extra", "temperature", "über"]), json_values),
)
def test_what_a_newer_holdfast_wrote_survives_a_round_trip(
    known: dict[str, Any], newer: dict[str, Any]
) -> None:
    written = {"host": "a", "text": "hello", **known, **newer}
    again = json.loads(encode(decode(json.dumps(written))))
    assert again == {"v": 1, **written}


def test_a_newer_kind_keeps_who_and_when() -> None:
    fact = decode('{"fact":"GpuMeasured","v":2,"at_s":7.5,"host":"a","task":"ps:0","celsius":90}')
    assert fact == UnknownFact(
        kind="GpuMeasured",
        at_s=7.5,
        host="a",
        task=TaskId("ps", 0),
        extra={"celsius": 90, "v": 2},
    )


def test_a_default_is_not_written() -> None:
    line = LogLine(at_s=1.0, host="a", text="hello")
    assert json.loads(encode(line)) == {
        "fact": "LogLine",
        "v": 1,
        "at_s": 1.0,
        "host": "a",
        "text": "hello",
    }


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_noise_is_bad_input_and_nothing_else(noise: bytes | str) -> None:
    with pytest.raises(BadInput):
        decode(noise)


@given(
    st.dictionaries(
        st.sampled_from(["fact", "v", "at_s", "host", "task", "attempt", "exit_code", "extra"]),
        json_values | st.sampled_from(["TaskExited", "ps:0", 1.0, 10**400, "\ud800"]),
    )
)
def test_wrong_values_are_bad_input_and_nothing_else(record: dict[str, Any]) -> None:
    try:
        fact = decode(json.dumps(record))
    except BadInput:
        return
    assert decode(encode(fact)) == fact


@given(any_fact(TaskExited), st.data())
def test_a_cut_line_is_bad_input(fact: Fact, data: st.DataObject) -> None:
    line = encode(fact)
    with pytest.raises(BadInput):
        decode(line[: data.draw(st.integers(0, len(line) - 1))])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{}",
        '{"fact":"LogLine"}',
        '{"fact":"LogLine","at_s":"soon","host":"a","text":"x"}',
        '{"fact":["LogLine"],"at_s":1,"host":"a"}',
        '{"fact":"LogLine","at_s":1,"host":"a","text":"x","task":7}',
        '{"fact":"LogLine","at_s":1,"host":"a","text":"x","task":"Worker 1"}',
        '{"fact":"LogLine","at_s":1,"host":"a","text":"\ud800"}',
        "[" * 100_000,
        '{"fact":"LogLine","at_s":1,"host":"a","text":"x","more":' + "[" * 100_000,
    ],
    ids=lambda line: line[:40].encode("ascii", "backslashreplace").decode() or "empty",
)
def test_damage_is_bad_input(line: str) -> None:
    with pytest.raises(BadInput):
        decode(line)
