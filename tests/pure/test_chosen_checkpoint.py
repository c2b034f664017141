"""Which checkpoint the next attempt begins from, and what is said of it."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.recovery_facts import CheckpointChosen
from holdfast.recover.checkpoints import Checkpoint, Choice, Form, choose, newest_first, with_steps


def bundle(number: int, **more: Any) -> Checkpoint:
    usual: dict[str, Any] = {
        "path": f"/run/ckpt-{number}",
        "form": Form.BUNDLE,
        "family": "/run/ckpt",
        "order": (0, number),
        "written_unix_s": float(number),
        "number": number,
    }
    return Checkpoint(**{**usual, **more})


def model(epoch: int, **more: Any) -> Checkpoint:
    return bundle(
        epoch, path=f"/run/m-{epoch}.keras", form=Form.KERAS, family="/run/*.keras", **more
    )


def test_the_newest_of_the_family_that_was_written_last_comes_first() -> None:
    found = [bundle(2), bundle(10), model(5), model(60)]
    names = [one.name for one in newest_first(found)]
    assert names == ["m-60.keras", "m-5.keras", "ckpt-10", "ckpt-2"]


def test_a_damaged_one_is_passed_over_with_its_reason_and_its_cost() -> None:
    found = [bundle(10, step=10), bundle(20, step=20), bundle(30, step=30, damage="it is cut")]
    choice = choose(found, reached_step=34)
    assert (choice.chosen, choice.passed_over, choice.steps_lost) == (found[1], (found[2],), 14)
    assert choice.says == (
        "the training goes on from ckpt-20 at step 20; 14 steps are lost,"
        " because of damage: ckpt-30 (it is cut)"
    )
    assert choice.to_fact(at_s=1, host="a", attempt=2) == CheckpointChosen(
        at_s=1,
        host="a",
        attempt=2,
        path="/run/ckpt-20",
        form="TensorFlow checkpoint",
        step=20,
        steps_lost=14,
        passed_over=("ckpt-30: it is cut",),
    )


@pytest.mark.parametrize(
    ("step", "reached_step", "lost"), [(20, -1, -1), (-1, 30, -1), (20, 18, 0), (20, 20, 0)]
)
def test_what_is_lost_is_told_only_where_it_is_known(
    step: int, reached_step: int, lost: int
) -> None:
    assert choose([bundle(20, step=step)], reached_step=reached_step).steps_lost == lost


def test_where_nothing_is_left_the_training_begins_anew() -> None:
    assert choose([]).says == "there is no checkpoint, so the training begins anew"
    choice = choose([bundle(1, damage="it is empty")])
    assert choice.says == (
        "no checkpoint can be used, so the training begins anew,"
        " because of damage: ckpt-1 (it is empty)"
    )
    fact = choice.to_fact(at_s=1, host="a", attempt=1)
    assert (fact.path, fact.form, fact.step, fact.read_whole) == ("", "", -1, False)


def test_of_very_many_damaged_ones_the_newest_are_told() -> None:
    choice = Choice(chosen=None, passed_over=tuple(bundle(n, damage="x") for n in range(50)))
    assert len(choice.to_fact(at_s=1, host="a", attempt=1).passed_over) == 20


@pytest.mark.parametrize(
    ("found", "steps"),
    [
        ([bundle(100), bundle(200), bundle(300)], [100, 200, 300]),
        ([bundle(1), bundle(2), bundle(3)], [-1, -1, -1]),
        ([bundle(7), bundle(8), bundle(20)], [-1, -1, -1]),
        ([bundle(100)], [-1]),
        ([bundle(100, is_step=True)], [100]),
        ([bundle(100, step=90), bundle(200)], [90, 200]),
        ([model(10), model(20)], [-1, -1]),
        ([bundle(-1)], [-1]),
    ],
    ids=["gaps", "counted", "a gap", "one", "by its files", "read", "epochs", "no number"],
)
def test_a_number_is_a_step_only_where_that_is_sure(
    found: list[Checkpoint], steps: list[int]
) -> None:
    assert [one.step for one in with_steps(found)] == steps


def test_families_do_not_mix_their_numbers() -> None:
    other = [replace(bundle(n), family="/run/best") for n in (1, 2)]
    known = with_steps([bundle(100), *other, bundle(200)])
    assert sorted((one.family, one.step) for one in known) == [
        ("/run/best", -1),
        ("/run/best", -1),
        ("/run/ckpt", 100),
        ("/run/ckpt", 200),
    ]
