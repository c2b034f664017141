"""The small picture of who waits for whom."""

from holdfast.views.sanitise import cells
from holdfast.views.waits_text import WAITERS_SHOWN_MAX, WAITS_MAX, waits_text

REFUSED = "refused at gpu-07:2222"


def picture(
    waits: list[tuple[str, str, str]], *, width: int = 80, marks: dict[str, str] | None = None
) -> list[str]:
    return waits_text(waits, marks or {}, width=width, colour=False)


def test_all_who_wait_for_one_share_an_arrow() -> None:
    waits = [(name, "worker:1", REFUSED) for name in ("chief:0", "worker:0", "worker:2")]
    assert picture(waits) == [
        "chief:0  ┐",
        "worker:0 ┼──▶ worker:1   refused at gpu-07:2222",
        "worker:2 ┘",
    ]


def test_one_waiter_and_two_have_pictures_of_their_own() -> None:
    assert picture([("chief:0", "ps:0", "")]) == ["chief:0 ───▶ ps:0"]
    assert picture([("chief:0", "ps:0", ""), ("worker:0", "ps:0", "")]) == [
        "chief:0  ┐",
        "worker:0 ┴──▶ ps:0",
    ]


def test_indices_become_ranges_and_names_come_in_their_order() -> None:
    waits = [(f"worker:{index}", "worker:9", "") for index in (6, 5, 4, 3, 2, 1, 0, 10)]
    assert picture(waits) == ["worker:0-6 ┐", "worker:10  ┴──▶ worker:9"]


def test_whoever_waits_for_nobody_comes_first() -> None:
    rows = picture([("chief:0", "worker:1", "a"), ("worker:1", "ps:0", "b")])
    assert rows == ["worker:1 ───▶ ps:0   b", "chief:0 ───▶ worker:1   a"]


def test_a_mark_says_a_word_about_a_task_and_is_red() -> None:
    marks = {"ps:0": "stopped"}
    assert picture([("chief:0", "ps:0", "no word")], marks=marks) == [
        "chief:0 ───▶ ps:0 (stopped)   no word"
    ]
    coloured = waits_text([("chief:0", "ps:0", "")], marks, width=80, colour=True)
    assert coloured == ["chief:0 ───▶ \x1b[1;31mps:0 (stopped)\x1b[0m"]


def test_those_awaited_alike_share_a_picture() -> None:
    waits = [(a, f"ps:{b}", "silent") for a in ("chief:0", "worker:0") for b in range(3)]
    assert picture(waits) == ["chief:0  ┐", "worker:0 ┴──▶ ps:0-2   silent"]


def test_a_circle_is_shown_as_one() -> None:
    waits = [("a:0", "a:1", "x"), ("a:1", "a:2", ""), ("a:2", "a:0", "y"), ("b:0", "a:0", "z")]
    assert picture(waits) == [
        "circle: a:0 ──▶ a:1 ──▶ a:2 ──▶ a:0",
        "  a:0 waits for a:1: x",
        "  a:2 waits for a:0: y",
        "b:0 ───▶ a:0   z",
    ]
    assert picture([("a:0", "a:0", "")]) == ["circle: a:0 ──▶ a:0"]


def test_a_knot_is_named_not_drawn() -> None:
    waits = [(f"w:{a}", f"w:{b}", "") for a in range(5) for b in range(5) if a != b]
    assert picture(waits) == ["circle: w:0-4 wait for each other"]


def test_what_leads_into_or_out_of_a_circle_is_no_part_of_it() -> None:
    waits = [("a", "b", ""), ("b", "a", ""), ("b", "c", ""), ("c", "d", ""), ("z", "a", "")]
    assert picture(waits)[0] == "circle: a ──▶ b ──▶ a"
    assert len(picture(waits)) == 4


def test_many_waiters_are_counted() -> None:
    rows = picture([(f"worker:{2 * index}", "ps:0", "") for index in range(50)])
    assert len(rows) == WAITERS_SHOWN_MAX
    assert rows[-1].startswith("… 31 more")


def test_many_awaited_and_many_waits_are_bounded() -> None:
    waits = [(f"a:{index}", f"b:{index}", str(index)) for index in range(WAITS_MAX + 5)]
    rows = picture(waits)
    assert len(rows) == 22
    assert rows[-2:] == ["… 9980 others are waited for", "… and 5 more"]


def test_several_reasons_stand_below_each_other_and_are_bounded() -> None:
    waits = [(f"worker:{index}", "ps:0", f"reason {index}") for index in range(6)]
    assert picture(waits) == [
        "worker:0-5 ───▶ ps:0   reason 0",
        "                       reason 1",
        "                       reason 2",
        "                       … and 3 other reasons",
    ]


def test_a_narrow_terminal_gets_plain_lines() -> None:
    waits = [(f"a-very-long-role:{index}", "another-long-role:1", REFUSED) for index in (0, 2)]
    rows = picture(waits, width=40)
    joined = " ".join(row.strip() for row in rows)
    assert joined == (
        "a-very-long-role:0 a-very-long-role:2 wait for another-long-role:1: " + REFUSED
    )
    assert all(cells(row) <= 40 for row in rows)
    one = picture(waits[:1], width=30)
    assert "waits for" in " ".join(row.strip() for row in one)


def test_names_and_reasons_are_sanitised_and_bounded() -> None:
    rows = picture([("\x1b[31mx\x07" * 30, "b\n:1", "\u202ewhy")], width=100)
    text = "\n".join(rows)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert all(cells(row) <= 100 for row in rows)


def test_nothing_waits_gives_nothing() -> None:
    assert picture([]) == []
