"""What was saved after somebody asked for the end, by what lies in the folder of checkpoints."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.facts import Fact, StopAsked, TimePassed
from holdfast.model.recovery_facts import CheckpointSaved
from holdfast.recover.checkpoints import Checkpoint, Form
from holdfast.recover.saving import TICK_S, request_in, saved_after

BEGAN_UNIX_S = 1_000.0
ASKED = StopAsked(at_s=20.0, host="a", by="SIGTERM", signal=15, attempt=2)
SAVED = CheckpointSaved(at_s=30.0, host="a", attempt=2, asked_s=20.0, reached_step=41)


def checkpoint(number: int, written_s: float, *, damage: str = "") -> Checkpoint:
    return Checkpoint(
        path=f"/data/ckpt-{number}",
        form=Form.BUNDLE,
        family="/data/ckpt",
        order=(1, number),
        written_unix_s=BEGAN_UNIX_S + written_s,
        number=number,
        step=number,
        damage=damage,
    )


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ([], None),
        ([TimePassed(at_s=1, host="a")], None),
        ([ASKED, replace(ASKED, at_s=21.0)], ASKED),
        ([replace(ASKED, now=True)], None),
        ([ASKED, SAVED], None),
    ],
    ids=["nothing", "nobody", "the first", "no time", "looked before"],
)
def test_only_a_wish_that_left_time_to_save_is_looked_into(
    facts: list[Fact], found: StopAsked | None
) -> None:
    assert request_in(facts) == found


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ([], ""),
        ([checkpoint(20, 19.0)], ""),
        ([checkpoint(20, 20.0 - TICK_S)], "/data/ckpt-20"),
        ([checkpoint(20, 19.0), checkpoint(40, 22.5)], "/data/ckpt-40"),
        ([checkpoint(40, 22.5), checkpoint(41, 23.0, damage="it is cut")], "/data/ckpt-40"),
        ([checkpoint(42, 24.5), checkpoint(40, 22.5)], "/data/ckpt-42"),
    ],
    ids=["none", "before", "the tick", "after", "damaged", "the last"],
)
def test_the_last_whole_one_since_then_counts(found: list[Checkpoint], path: str) -> None:
    saved = saved_after(ASKED, found, at_s=30.0, began_unix_s=BEGAN_UNIX_S, reached_step=41)
    assert saved.path == path


def test_what_is_told_of_it() -> None:
    none = saved_after(ASKED, [], at_s=30.0, began_unix_s=BEGAN_UNIX_S, reached_step=41)
    assert none == SAVED
    one = [checkpoint(40, 22.5)]
    saved = saved_after(ASKED, one, at_s=30.0, began_unix_s=BEGAN_UNIX_S, reached_step=41)
    told: Any = {"path": "/data/ckpt-40", "form": Form.BUNDLE, "step": 40, "written_s": 22.5}
    assert saved == replace(SAVED, **told)
