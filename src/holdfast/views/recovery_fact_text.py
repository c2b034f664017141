"""What was decided about a failure, in one line for a person."""

from collections.abc import Callable
from typing import Any, Final

from holdfast.model import recovery_facts as facts
from holdfast.model.facts import Fact


def _decided(fact: facts.RemedyDecided) -> str:
    what = f"ask whether to {fact.would}" if fact.would else fact.remedy
    whom = f" {', '.join(fact.tasks)}" if fact.tasks else ""
    after = f" in {fact.wait_s:.0f} s" if fact.wait_s >= 1 else ""
    code = f" with exit code {fact.exit_code}" if fact.exit_code >= 0 else ""
    return f"decided: {what}{whom}{code}{after}: {fact.reason}"


def _chosen(fact: facts.CheckpointChosen) -> str:
    passed_over = f"; passed over: {', '.join(fact.passed_over)}" if fact.passed_over else ""
    if not fact.path:
        return f"no checkpoint is there to begin from{passed_over}"
    step = f" (step {fact.step})" if fact.step >= 0 else ""
    lost = f", {fact.steps_lost} steps are lost" if fact.steps_lost >= 0 else ""
    return f"begins from {fact.path}{step}{lost}{passed_over}"


SAY_RECOVERY: Final[dict[type[Fact], Callable[[Any], str]]] = {
    facts.CheckpointChosen: _chosen,
    facts.ProgramRead: lambda fact: f"{fact.path} mentions {', '.join(fact.mentions) or 'nothing'}",
    facts.RemedyAnswered: lambda fact: f"{fact.by} said {'yes' if fact.yes else 'no'}",
    facts.RemedyDecided: _decided,
}
