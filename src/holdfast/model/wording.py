"""What programs print when a cause is at work, and how much it proves where only logs are left."""

from dataclasses import dataclass
from enum import IntEnum

from holdfast.model.pattern import Pattern


class Weight(IntEnum):
    """How much a line proves by itself."""

    SYMPTOM = 1  # many causes end in these words: it shows who suffers, and from whom
    SIGN = 2  # most often this cause, unless something better is proven
    PROOF = 3  # it says the cause itself


@dataclass(frozen=True, slots=True)
class Words:
    """One way in which programs say it.

    A group named `culprit` in the pattern holds who is to blame, in the log's own words: a task, a
    rank, a host, a device, a file; one named `rank` holds a rank's number. Without them, whoever
    writes the line is to blame; where `blames_named`, the tasks that the line names; where
    `blames_nobody`, no one.

    `says` is the sentence for a person: {who} is the one to blame, {line} what stands in the log,
    and every other name is a group of the pattern.
    """

    pattern: Pattern
    weight: Weight = Weight.PROOF
    unless: Pattern | None = None  # with this in the same line or message, it is something else
    own_line: Pattern | None = None  # of a traceback: the program's innermost own line reads so
    blames_named: bool = False
    blames_nobody: bool = False
    says: str = ""
    of_speaker: bool = False  # the culprit is part of who writes: a known task is blamed instead
    often: int = 1  # so many times one must say it: once, everybody does
    last: bool = False  # it proves nothing where something else follows: a wait that is over
