"""What a terminal says of a recovery, while it happens: one line for each thing that is done."""

from holdfast.model.facts import AttemptStarted, Fact
from holdfast.model.recovery_facts import (
    CheckpointChosen,
    CheckpointSaved,
    RemedyAnswered,
    RemedyDecided,
)
from holdfast.recover.decision import decision_in
from holdfast.views.recovery_fact_text import SAY_RECOVERY


def recovery_line(fact: Fact) -> str:
    """Empty: it is not worth a line."""
    match fact:
        case AttemptStarted(attempt=attempt) if attempt > 1:
            return f"attempt {attempt}: all {len(fact.tasks)} tasks are started again"
        case RemedyDecided():
            begin = "dry run, not done: " if fact.dry_run else ""
            return f"recovery: {begin}{decision_in(fact).in_words()}"
        case CheckpointSaved():
            return f"end: {SAY_RECOVERY[type(fact)](fact)}"
        case CheckpointChosen() | RemedyAnswered():
            return f"recovery: {SAY_RECOVERY[type(fact)](fact)}"
    return ""


def is_to_be_done(fact: RemedyDecided) -> bool:
    """Whether somebody waits for it to be done, or answered."""
    return not fact.dry_run and (fact.would or fact.remedy) in {"relaunch", "replace"}
