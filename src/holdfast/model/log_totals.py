"""Whether a log's last progress reaches the total it announces: `Epoch 5/5`, `step 1000/1000`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.model.pattern import Pattern
from holdfast.model.steps import without_escapes

# The head of an epoch may stand hundreds of lines above its end: a bar is drawn again and again.
EPOCH_HEAD = Pattern(r"\bEpoch \d{1,9}/\d{1,9}\s*$")
LINES_MAX = 20  # the last ones that count something: of older ones, only the epoch is of use
_COUNTS = Pattern(r"\d\s*(?:/|of|out of)\s*\d|(?i:epoch)")
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{1,12})"
_OF = (
    rf"[\"']?\s*[:=#]?\s*[\[(]?\s*{_NUMBER}\s*(?:/|of|out of)\s*{_NUMBER}(?:[^\d.,%]|[.,]\D|[.,]?$)"
)
_EPOCH_OF = Pattern(rf"(?i)\bepochs?\b{_OF}")
_EPOCH_ALONE = Pattern(r"(?i)\bepoch\b\s*[:=#]?\s*[\[(]?\s*\d+(?:[^\d.]|\.?$)")
_PLAIN = (
    Pattern(rf"(?i)\b(?:global[_ ]?)?(?:step|iter|iteration|batch|update|round|episode)s?\b{_OF}"),
    Pattern(rf"\[\s*{_NUMBER}\s*/\s*{_NUMBER}\s*\]"),
)
# Bars of Keras and of tqdm: drawn to the end they tell of one epoch, or of a download.
_BARS = (
    Pattern(rf"(?:^|[\s>:|]){_NUMBER}/{_NUMBER}\s+(?:\[[=>.]|[━-]|\d+(?:s|ms|us|m)\b)"),
    Pattern(rf"\d%\|[^|]*\|\s*{_NUMBER}/{_NUMBER}\s+\[\d"),
)
# What is counted is not the training.
_OTHER = Pattern(
    r"(?i)\b(?:eval\w*|valid\w*|val|test\w*|predict\w*|download\w*|load\w*|fetch\w*|map\w*"
    r"|tokeniz\w*|generat\w*|sampl\w*|extract\w*|filter\w*|shards?|files?|sav\w*|warm\w*|wait\w*)"
    r"\b"
)
_RIGHT_BEFORE = Pattern(rf"{_OTHER.text}[^a-zA-Z]*$")


@dataclass(frozen=True, slots=True)
class _Count:
    """So many of so many."""

    done: int
    total: int
    is_bar: bool = False

    @property
    def is_full(self) -> bool:
        return self.done >= self.total > 0

    @property
    def is_short(self) -> bool:
        """Whether it clearly is: some count from 0, and the last is then one less."""
        return self.done < self.total - 1


@dataclass(frozen=True, slots=True)
class LastTotal:
    """How far a log has come of what it announces: the epoch, and the steps within it."""

    epoch: _Count | None = None
    is_head: bool = False  # the line of the epoch tells nothing else: what it does comes below
    in_endless_epoch: bool = False  # one of unknown many
    steps: _Count | None = None

    @property
    def is_reached(self) -> bool:
        if self.in_endless_epoch:
            return False
        if self.epoch is None:
            return self.steps is not None and self.steps.is_full and not self.steps.is_bar
        return self.epoch.is_full and (self.steps.is_full if self.steps else not self.is_head)

    @property
    def is_short(self) -> bool:
        return any(count is not None and count.is_short for count in (self.epoch, self.steps))


def last_total(
    lines: Sequence[str], *, head: str = "", first_lines: Sequence[str] = ()
) -> LastTotal:
    """What the last lines of a log announce, and how far they have come.

    `head` is that of the last epoch, which may stand above them; `first_lines` tell whether
    epochs are counted from 0.
    """
    known = LastTotal()
    counting = [line for line in lines if _COUNTS.search(line)]
    epochs = [line for line in counting[:-LINES_MAX] if "epoch" in line.lower()]
    for line in (head, *epochs[-1:], *counting[-LINES_MAX:]):
        for drawn in line.replace("\r", "\b").split("\b"):
            known = _told_by(without_escapes(drawn), known)
    if known.epoch and any(map(_is_epoch_0, first_lines)):
        return replace(known, epoch=replace(known.epoch, done=known.epoch.done + 1))
    return known


def _is_epoch_0(line: str) -> bool:
    found = _first(line, _EPOCH_OF)
    return found is not None and _count(found).done == 0


def _told_by(line: str, known: LastTotal) -> LastTotal:
    if found := _first(line, _EPOCH_OF):
        rest = line[found.end() :].strip(" \t])>.:-=")
        known = LastTotal(epoch=_count(found), is_head=not rest)
    elif _first(line, _EPOCH_ALONE):
        known = LastTotal(in_endless_epoch=True)
    if known.epoch and known.epoch.is_full and known.steps and known.steps.is_full:
        return known  # what is counted after the end is a validation
    for pattern in _PLAIN:
        if found := _first(line, pattern):
            return replace(known, steps=_count(found))
    for pattern in _BARS:
        # A bar's label may name a file behind the word.
        if found := _first(line, pattern, _OTHER):
            return replace(known, steps=replace(_count(found), is_bar=True))
    return known


def _first(line: str, pattern: Pattern, other: Pattern = _RIGHT_BEFORE) -> Any:
    found = pattern.search(line)
    return None if found is None or other.search(line[: found.start()]) else found


def _count(found: Any) -> _Count:
    done, total = (int(number.replace(",", "")) for number in found.groups()[:2])
    return _Count(done, total)
