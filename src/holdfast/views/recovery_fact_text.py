"""What was decided about a failure or saved before an end, in one line for a person."""

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


def _saved(fact: facts.CheckpointSaved) -> str:
    if not fact.path:
        return "no checkpoint was written after the end was asked for"
    step = f", at step {fact.step}" if fact.step >= 0 else ""
    reached = f", at about step {fact.reached_step}" if fact.reached_step >= 0 else ""
    after_s = max(0.0, fact.written_s - fact.asked_s)
    where = step or reached
    return f"{fact.path} was written {after_s:.1f} s after the end was asked for{where}"


SAY_RECOVERY: Final[dict[type[Fact], Callable[[Any], str]]] = {
    facts.CheckpointChosen: _chosen,
    facts.CheckpointSaved: _saved,
    facts.ProgramRead: lambda fact: f"{fact.path} mentions {', '.join(fact.mentions) or 'nothing'}",
    facts.RemedyAnswered: lambda fact: f"{fact.by} said {'yes' if fact.yes else 'no'}",
    facts.RemedyDecided: _decided,
}
