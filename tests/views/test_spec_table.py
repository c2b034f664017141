"""Definitions that differ, side by side."""

from holdfast.model.facts import SpecRead
from holdfast.views.sanitise import cells
from holdfast.views.spec_table import ROWS_MAX, spec_table


def spec(source: str, *workers: str, host: str = "host-a") -> SpecRead:
    cluster = {"worker": {str(index): address for index, address in enumerate(workers)}}
    return SpecRead(at_s=0.0, host=host, source=source, cluster=cluster)


def test_the_odd_one_out_is_marked() -> None:
    specs = [
        spec("a.json", "h:1", "h:2"),
        spec("b.json", "h:1", "h:3"),
        spec("c.json", "h:1", "h:2"),
    ]
    assert spec_table(specs, width=80) == [
        "          a.json +1  b.json *",
        "worker:1  h:2        h:3",
    ]


def test_without_a_majority_nobody_is_odd_and_absence_is_a_dash() -> None:
    assert spec_table([spec("a", "h:1"), spec("b", "h:1", "h:2")], width=80) == [
        "          a  b",
        "worker:1  -  h:2",
    ]


def test_equal_definitions_have_no_table() -> None:
    assert spec_table([spec("a", "h:1"), spec("b", "h:1")], width=80) == []
    assert spec_table([], width=80) == []


def test_records_of_several_hosts_name_them() -> None:
    specs = [spec("TF_CONFIG", "h:1"), spec("TF_CONFIG", "h:2", host="host-b")]
    assert spec_table(specs, width=80)[0].split() == [
        *("host-a:", "TF_CONFIG", "host-b:", "TF_CONFIG")
    ]


def test_a_narrow_terminal_gets_one_entry_after_the_other() -> None:
    rows = spec_table([spec("a.json", "host-one:1"), spec("b.json", "host-two:1")], width=24)
    assert rows == ["worker:0", "  host-one:1 in a.json", "  host-two:1 in b.json"]


def test_many_rows_and_columns_are_counted() -> None:
    specs = [spec(f"{n}.json", *(f"h{n}:{port}" for port in range(1, 30))) for n in range(7)]
    rows = spec_table(specs, width=100)
    assert len(rows) == 1 + ROWS_MAX + 2
    assert rows[-2:] == ["… and 17 more entries differ", "… and 3 more definitions that differ"]


def test_strangers_names_are_sanitised() -> None:
    odd = SpecRead(
        at_s=0.0, host="", source="x\x1b[2J", cluster={"r\x07": {"x": "\u202e" * 99, "2": "h"}}
    )
    rows = spec_table([odd, spec("b", "h:1")], width=60)
    text = "\n".join(rows)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert all(cells(row) <= 60 for row in rows)
