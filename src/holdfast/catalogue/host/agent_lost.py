"""The supervisor was gone for a while, and another took the job over.

## What you see
`holdfast run` said that its supervisor had ended unexpectedly, or the terminal went with it.
The tasks trained on. Somebody called `holdfast attach RUN_DIR` or `holdfast run --resume`.

## Why it happens
The supervisor was killed: by a person (`kill -9`), by a scheduler that ends what a login left
behind, or by the kernel for memory. The tasks are not its children, so they did not notice.

## How to confirm it by hand
`dmesg -T | grep -i 'killed process'` for the kernel, `supervisor.log` in the run directory for
a fault of its own, `holder.jsonl` there for what happened meanwhile.

## What to do
Nothing for the training. If it happens again, find out who ends processes on that host: a
logged-out session (`loginctl enable-linger`), a cron job, a limit on memory.

## When this accusation would be wrong
It accuses nobody. How and when a task ended meanwhile is known; what only a look can see, such
as a task that stood still for a time, is not. A watcher that is only starved is not lost: it says
itself for how long it did not get to look, and that time counts against nobody.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskExited
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import TakenOver
from holdfast.model.words import listed, seconds_text

LONG_S = 60.0  # so long without a look is worth a warning


def detect(evidence: Evidence) -> Iterator[Proof]:
    taken = tuple(evidence.of(TakenOver))
    if not taken:
        return
    longest = max(taken, key=lambda fact: fact.at_s - fact.gone_s)
    away_s = longest.at_s - longest.gone_s
    ends = [
        exited
        for exited in evidence.of(TaskExited)
        if any(fact.gone_s < exited.at_s < fact.at_s for fact in taken)
    ]
    yield Proof(
        facts=(*taken, *ends),
        culprit=None,
        severity=Severity.WARNING if ends or away_s >= LONG_S else Severity.INFO,
        says=_says(longest, more=len(taken) - 1, ended=[str(exited.task) for exited in ends]),
        do=(
            f"see who ended it, on {longest.host}: dmesg -T | grep -i 'killed process'",
            "read supervisor.log in the run directory",
            "nothing for the training: it went on",
        ),
    )


def _says(taken: TakenOver, *, more: int, ended: list[str]) -> str:
    who = f" (pid {taken.pid})" if taken.pid else ""
    times = "once" if more == 1 else f"{more} times"
    again = f", and {times} before or after" if more else ""
    meanwhile = f"; {listed(ended)} ended meanwhile" if ended else ""
    return (
        f"nobody looked from {seconds_text(taken.gone_s)} to {seconds_text(taken.at_s)} after the"
        f" start{again}: the supervisor{who} was gone, and the training went on{meanwhile}"
    )


cause = Cause(
    family="unknown",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.INFO,
)
