"""What is seen in the text of the tasks' program, before it runs."""

from dataclasses import dataclass

from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Hdf5LocksOff(Fact):
    """A line of the tasks' program switches HDF5's file locks off."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChiefForAll(Fact):
    """A line of the tasks' program makes a chief of whoever runs it."""

    file: str
    line: int
    text: str
