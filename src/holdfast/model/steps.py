"""The last training step that a piece of output tells, in the words of those who print steps.

Keras draws a bar again and again, TensorFlow 1 hooks write `step = 100`, people write `step 120`,
`[120/5000]` or JSON. A number counts only where such a word stands beside it: times, percentages
and sizes are numbers, too. Where there is none, lines that count tell.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.model.counted_lines import NOTHING_COUNTED, CountedLines
from holdfast.model.pattern import Pattern

PIECE_BYTES_MAX = 8_192
LINES_MAX = 8  # of one piece: what came before is older than what we want to know
PASSED_OVER_MAX = 20  # lines with steps in other words, after which these words are believed
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{1,12})"
# What ends a number: without it, the number may go on in bytes that are not written yet.
_END = r"(?:[\s;|/)\]}>\"'(]|[.:,]\D)"
_SIGN = r"[\"']?\s*[:=#]?\s*[#\[(]?\s*"
_ESCAPE = Pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_HINTS = ("step", "iter", "batch", "epoch", "/", "saving checkpoints")
_EPOCH = Pattern(rf"(?i)\bepoch\b{_SIGN}{_NUMBER}{_END}")
# Steps of a validation are not steps of the training, and a limit is not a step either.
_OTHER = Pattern(
    r"(?i)\b(?:eval\w*|valid\w*|val|test\w*|predict\w*|per|max|total|every)\b[^a-zA-Z]*$"
)
# The later, the more exact: who tells steps in several ways is believed in the last of them.
_WORDS = {
    "of": Pattern(rf"\[\s*{_NUMBER}\s*/\s*\d{{1,12}}\s*\]"),
    # `Epoch 1/5 - 120/5000 - loss: 0.3`
    "in epoch": Pattern(rf"(?i)\bepoch\s+\d+\s*/\s*\d+\s*[-,|:]\s*{_NUMBER}/\d{{1,12}}\s"),
    "iteration": Pattern(rf"(?i)\b(?:iter|iteration|batch)\b{_SIGN}{_NUMBER}{_END}"),
    # `12%|██ | 12/100 [00:01<00:09`
    "tqdm": Pattern(rf"\d+%\|[^|]*\|\s*{_NUMBER}/\d+\s+\[\d"),
    # `12/100 [=>...]`, `12/100 ━━━ 3s`, `12/Unknown - 3s`, `100/100 - 3s`
    "bar": Pattern(rf"^\s*{_NUMBER}/(\d{{1,12}}|Unknown)\s+(?:\[[=>.]|[━-]|\d+(?:s|ms|us|m)\b)"),
    "saved": Pattern(rf"Saving checkpoints for {_NUMBER} into "),
    "step": Pattern(rf"(?i)\b(?:global[_ ]?)?step\b{_SIGN}{_NUMBER}{_END}"),
}
_COUNTED = "counted"
_KINDS = (_COUNTED, "epoch", *_WORDS)


@dataclass(frozen=True, slots=True)
class Steps:
    """How far a task has come, by its own output. A new epoch counts on where the last ended."""

    step: int  # never less than before; -1: none was told yet
    source: str = "log"  # or keras
    kind: str = "epoch"  # which words it goes by
    counted: int = 0  # the number as it was last printed
    before: int = 0  # what is to be added to it
    epoch: int = 0  # by Keras's words; 0: it does not tell
    is_over: bool = False  # this epoch has been drawn to its end
    is_fresh: bool = False  # an epoch was named since then, and nothing drawn of it yet
    earlier: int = 0  # steps of a fit before this one, whose epochs began with 1, too
    passed_over: int = 0  # less exact lines, since the last one of its own kind
    counted_lines: CountedLines = NOTHING_COUNTED


UNTOLD = Steps(step=-1)


def steps_told(piece: bytes, known: Steps = UNTOLD) -> Steps:
    """What is known after this piece of output.

    The piece should begin where a line begins: half a number is another number.
    """
    text = piece[-PIECE_BYTES_MAX:].decode("utf-8", "replace")
    *whole, rest = text.replace("\r", "\n").replace("\b", "\n").split("\n")
    telling = _telling([*(line + "\n" for line in whole), rest])
    for line in telling:
        known = _told_by(without_escapes(line), known)
    if not telling and (known.step < 0 or known.kind == _COUNTED):
        for line in whole[-LINES_MAX:]:
            known = _told_by_count(without_escapes(line), known)
    return known


def _told_by_count(line: str, known: Steps) -> Steps:
    lines, step = known.counted_lines.after(line)
    known = replace(known, counted_lines=lines)
    return known if step is None else _counted_on(known, _COUNTED, None, number=step)


def _telling(lines: list[str]) -> list[str]:
    """The last lines that may tell a step, and the epoch that they are in, oldest first.

    By plain words: RE2 takes ten microseconds for each line, and there may be hundreds a second.
    """
    last: list[str] = []
    for line in reversed(lines):
        words = line.lower()
        if len(last) < LINES_MAX and any(hint in words for hint in _HINTS):
            last.append(line)
        elif len(last) >= LINES_MAX and "epoch" in words:
            last.append(line)
            break
    return last[::-1]


def without_escapes(line: str) -> str:
    if "\x1b" not in line:
        return line
    start, kept = 0, []
    for found in _ESCAPE.each(line):
        kept.append(line[start : found.start()])
        start = found.end()
    return "".join((*kept, line[start:]))


def _told_by(line: str, known: Steps) -> Steps:
    epoch = _EPOCH.search(line)
    if epoch is not None and not _is_of_another(line, epoch):
        known = _with_epoch(known, _number(epoch))
    for kind in reversed(_WORDS):
        found = _WORDS[kind].search(line)
        if found is None or _is_of_another(line, found):
            continue
        if _KINDS.index(kind) < _KINDS.index(known.kind) and known.passed_over < PASSED_OVER_MAX:
            return replace(known, passed_over=known.passed_over + 1)
        return _READ.get(kind, _counted_on)(known, kind, found)
    return known


def _is_of_another(line: str, found: Any) -> bool:
    return _OTHER.search(line[: found.start()]) is not None


def _number(found: Any) -> int:
    return int(found.group(1).replace(",", ""))


def _with_epoch(known: Steps, epoch: int) -> Steps:
    if known.kind == "epoch":
        known = _counted_on(known, "epoch", None, number=epoch)
    return replace(known, epoch=epoch, is_over=False, is_fresh=known.is_fresh or known.is_over)


def _counted_on(known: Steps, kind: str, found: Any, *, number: int | None = None) -> Steps:
    """A number that is less than before: a new epoch, or somebody went back a little."""
    number = _number(found) if number is None else number
    if kind != known.kind or known.step < 0:
        before = max(0, known.step - number)
    elif number >= known.counted:
        before = known.before
    elif number <= known.counted // 2:
        before = known.before + known.counted
    else:
        before = known.before + known.counted - number
    return replace(
        known,
        step=before + number,
        source="log",
        kind=kind,
        counted=number,
        before=before,
        passed_over=0,
    )


def _drawn(known: Steps, kind: str, found: Any) -> Steps:
    """A bar of Keras. A second one in the same epoch is that of its validation."""
    number = _number(found)
    total = int(found.group(2)) if found.group(2) != "Unknown" else 0
    if known.epoch and known.is_over:
        return known
    if known.epoch and total:
        step = known.earlier + (known.epoch - 1) * total + number
        if known.is_fresh and step <= known.step:  # another fit, or epochs that are not Keras's
            known = replace(known, earlier=known.earlier + known.step + number - step)
            step = known.step + number
        drawn = replace(known, kind=kind, before=step - number, counted=number, passed_over=0)
        drawn = replace(drawn, step=max(step, known.step))
    else:
        drawn = _counted_on(known, kind, found)
    return replace(drawn, source="keras", is_over=number == total, is_fresh=False)


_READ: dict[str, Callable[[Steps, str, Any], Steps]] = {"bar": _drawn}
