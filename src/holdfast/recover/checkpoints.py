"""Which checkpoint the next attempt begins from, and what that costs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise

from holdfast.model.recovery_facts import CheckpointChosen
from holdfast.model.words import listed

PASSED_OVER_MAX = 20  # that are told; the newest ones tell most


class Form(StrEnum):
    BUNDLE = "TensorFlow checkpoint"  # an index and its shards: Checkpoint, Saver
    BACKUP = "Keras backup"  # BackupAndRestore
    KERAS = "Keras model"  # .keras
    HDF5 = "HDF5 file"  # .weights.h5, .h5


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    path: str  # as TensorFlow takes it: of an index and its shards, what their names begin with
    form: Form
    family: str  # those of one family follow each other
    order: tuple[int, int]  # in the family: the newest is the greatest
    written_unix_s: float
    number: int = -1  # in its name; it may count steps, saves or epochs
    is_step: bool = False  # whether its number is surely a step
    step: int = -1  # -1: nobody knows
    damage: str = ""  # why it cannot be used; empty: nothing wrong was found
    read_whole: bool = False  # every tensor of it was read
    unread: str = ""  # why that could not be tried

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    chosen: Checkpoint | None
    passed_over: tuple[Checkpoint, ...] = ()  # newer than the chosen one, and damaged
    steps_lost: int = -1  # -1: nobody knows

    @property
    def says(self) -> str:
        """One sentence: what we begin from, what is lost, and why not the newest."""
        why = listed(f"{one.name} ({one.damage})" for one in self.passed_over)
        because = f", because of damage: {why}" if why else ""
        if self.chosen is None:
            none = "no checkpoint can be used" if why else "there is no checkpoint"
            return f"{none}, so the training begins anew{because}"
        lost = f"; {self.steps_lost} steps are lost" if self.steps_lost >= 0 else ""
        step = f" at step {self.chosen.step}" if self.chosen.step >= 0 else ""
        return f"the training goes on from {self.chosen.name}{step}{lost}{because}"

    def to_fact(self, *, at_s: float, host: str, attempt: int) -> CheckpointChosen:
        chosen = self.chosen
        passed_over = self.passed_over[:PASSED_OVER_MAX]
        return CheckpointChosen(
            at_s=at_s,
            host=host,
            attempt=attempt,
            path=chosen.path if chosen else "",
            form=chosen.form if chosen else "",
            step=chosen.step if chosen else -1,
            steps_lost=self.steps_lost,
            passed_over=tuple(f"{one.name}: {one.damage}" for one in passed_over),
            read_whole=chosen.read_whole if chosen else False,
        )


def choose(found: Sequence[Checkpoint], *, reached_step: int = -1) -> Choice:
    """The newest that nothing is wrong with, of the family that was written last."""
    passed_over: list[Checkpoint] = []
    for one in newest_first(found):
        if one.damage:
            passed_over.append(one)
            continue
        known = one.step >= 0 and reached_step >= 0
        lost = max(0, reached_step - one.step) if known else -1
        return Choice(chosen=one, passed_over=tuple(passed_over), steps_lost=lost)
    return Choice(chosen=None, passed_over=tuple(passed_over))


def newest_first(found: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Family by family: what a program saves in two ways, it restores in one of them."""
    members: dict[str, list[Checkpoint]] = {}
    for one in found:
        members.setdefault(one.family, []).append(one)
    families = sorted(
        members.values(), key=lambda family: max(one.written_unix_s for one in family), reverse=True
    )
    ordered = (sorted(family, key=lambda one: one.order, reverse=True) for family in families)
    return [one for family in ordered for one in family]


def with_steps(found: Iterable[Checkpoint]) -> list[Checkpoint]:
    """The same, with the steps that their numbers tell.

    TensorFlow 1 numbers by steps. A CheckpointManager counts its saves unless it is told
    otherwise: then its numbers have gaps.
    """
    known: list[Checkpoint] = []
    by_family = sorted(found, key=lambda one: (one.family, one.number))
    for _, family in groupby(by_family, key=lambda one: one.family):
        members = list(family)
        numbers = [one.number for one in members if one.number >= 0]
        gaps = [later - earlier for earlier, later in pairwise(numbers)]
        by_step = bool(gaps) and min(gaps) > 1 and members[0].form is Form.BUNDLE
        known += [
            replace(one, step=one.number) if one.step < 0 and (by_step or one.is_step) else one
            for one in members
        ]
    return known
