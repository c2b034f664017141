"""What was decided about a failure, as a person reads it."""

from typing import Any

import pytest

from holdfast.model import recovery_facts as facts
from holdfast.model.facts import Fact
from holdfast.views.fact_text import fact_text

HERE: Any = {"at_s": 9.0, "host": "host-a"}


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (
            facts.RemedyDecided(remedy="restart", reason="why", tasks=("worker:1",), **HERE),
            "decided: restart worker:1: why",
        ),
        (
            facts.RemedyDecided(remedy="relaunch", reason="why", wait_s=7.3, **HERE),
            "decided: relaunch in 7 s: why",
        ),
        (
            facts.RemedyDecided(remedy="stop", reason="why", exit_code=137, **HERE),
            "decided: stop with exit code 137: why",
        ),
        (
            facts.RemedyDecided(remedy="ask", reason="why", would="relaunch", **HERE),
            "decided: ask whether to relaunch: why",
        ),
        (facts.RemedyAnswered(by="Ann", yes=True, **HERE), "Ann said yes"),
        (facts.RemedyAnswered(by="Ann", yes=False, **HERE), "Ann said no"),
        (
            facts.CheckpointChosen(
                path="ckpt-3",
                step=30,
                steps_lost=12,
                passed_over=("ckpt-4: its index is empty",),
                **HERE,
            ),
            (
                "begins from ckpt-3 (step 30), 12 steps are lost; passed over: ckpt-4: its index"
                " is empty"
            ),
        ),
        (facts.CheckpointChosen(path="a.keras", **HERE), "begins from a.keras"),
        (facts.CheckpointChosen(path="", **HERE), "no checkpoint is there to begin from"),
        (facts.ProgramRead(path="a.py", mentions=("x", "y"), **HERE), "a.py mentions x, y"),
        (facts.ProgramRead(path="a.py", mentions=(), **HERE), "a.py mentions nothing"),
    ],
)
def test_a_fact_in_one_sentence(fact: Fact, text: str) -> None:
    assert fact_text(fact) == text
