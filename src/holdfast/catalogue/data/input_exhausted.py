"""The input ran out before the training was over.

## What you see
`OutOfRangeError: End of sequence`, `FIFOQueue ... is closed and has insufficient elements`, `Your
input ran out of data; interrupting training`, or a bare `StopIteration`.

## Why it happens
The dataset is not repeated, and holds fewer batches than `steps_per_epoch * epochs`; the files
were split unevenly, so that one task runs dry before the others; a queue was closed because its
reader failed (the error above it says why).

## How to confirm it by hand
Count the batches: `sum(1 for _ in dataset)` in each task, against the number of steps.

## What to do
Add `.repeat()`, ask for fewer steps, or catch `tf.errors.OutOfRangeError` at the end of an epoch.
Give all tasks equally many batches.

## When this accusation would be wrong
When the loop waits for just this end of the data. A line of TensorFlow's own with the same words,
without an exception, is the normal end of an epoch.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, OutputEnded
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.log_facts import LogsGiven
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

SEQUENCE = Pattern(r"OutOfRangeError\b(?s:.*)(?:End of sequence|[Rr]eached limit of \d+)")
# The queue lies on a device of some task, often of a parameter server.
QUEUE = Pattern(
    r"OutOfRangeError\b(?s:.*)is closed and has insufficient elements"
    r"(?:(?s:.*?)_device=\"(?P<culprit>/job:(?:ps|worker|chief|master)/[^\s\"]*task:\d+))?"
)
QUEUE_LINE = Pattern(r"Queue '[^']*' is closed and has insufficient elements")
# Several tasks reduce together, and the input of one of them has ended.
TOGETHER = Pattern(
    r"(?:Aborting Ring\w+ with|StartAbort) (?:Out of range|OUT_OF_RANGE): *\[_Derived_\] *"
    r"End of seq"
    r"|Aborting Ring\w+ with (?:Out of range|OUT_OF_RANGE): *End of sequence"
    r"|^\s*\(\d+\) (?:Out of range|OUT_OF_RANGE): +(?:\[_Derived_\] *)?End of sequence"
    r"|root error\(s\) found(?s:.*)(?:Out of range|OUT_OF_RANGE): +End of sequence"
)
INTERRUPTED = Pattern(r"ran out of data; interrupting (?:training|evaluation|prediction)")
CAUGHT = Pattern(r"Caught OutOfRangeError\. Stopping Training")
WHOLE_EPOCH = Pattern(r"^\s*(\d{1,12})/(\d{1,12}) ")
NEXT_EPOCH = Pattern(r"^\s*Epoch \d+(?:/\d+)?\s*:?")
STOPPED = Pattern(
    r"(?:^|[>:\]] ?)StopIteration(?:\s*$|: )|generator raised StopIteration"
    r"|(?:Error|Exception): .*\b(?:[Dd]ata(?:set|loader)?|[Ii]terator|[Ii]nput) (?:is |was"
    r" )?exhausted"
)
SAYS = "the input of {who} ran out: {line}"
DO = (
    "count the batches in each task: sum(1 for _ in dataset), against steps_per_epoch * epochs",
    "add .repeat() to the dataset, or ask for fewer steps",
)


def detect(evidence: Evidence) -> Iterator[Proof]:
    """Keras says that it interrupts the training, and draws the bar of that epoch once more."""
    if not any(evidence.of(LogsGiven)):
        return
    for line in evidence.lines(INTERRUPTED):
        if _is_last_epoch(evidence, line):
            who = line.task or "the job"
            yield Proof(
                facts=(line,),
                culprit=line.task,
                confidence=Confidence.LIKELY,
                says=f"the input of {who} ran out, and Keras stopped its training",
                do=DO,
            )


def _is_last_epoch(evidence: Evidence, line: LogLine) -> bool:
    """Keras 3 says the same once while it learns how long an epoch is, and goes on."""
    totals = {end.source: end.lines_total for end in evidence.of(OutputEnded)}
    lines = {words.source: words.lines for words in evidence.of(LastWords)}.get(line.source, ())
    below = totals.get(line.source, line.line) - line.line
    last = lines[max(0, len(lines) - below) :]
    return below <= len(lines) and not any(NEXT_EPOCH.search(one) or _is_whole(one) for one in last)


def _is_whole(line: str) -> bool:
    """Whether an epoch came to its end: the dataset is as long as it is, and nothing is missing."""
    bar = WHOLE_EPOCH.search(line)
    return bar is not None and bar.group(1) == bar.group(2)


cause = Cause(
    family="data-input-exhausted",
    detect=detect,
    hears=(INTERRUPTED,),
    words=(
        Words(SEQUENCE, says=SAYS),
        Words(QUEUE, says=SAYS),
        Words(QUEUE_LINE, says=SAYS, weight=Weight.SIGN),
        Words(TOGETHER, says=SAYS, weight=Weight.SIGN, blames_nobody=True),
        Words(CAUGHT, says=SAYS, weight=Weight.SIGN),
        Words(STOPPED, says=SAYS, weight=Weight.SIGN),
    ),
    do=DO,
    remedy=AskHuman(),
)
