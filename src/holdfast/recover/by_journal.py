"""One decision from all that a job's journal holds: the same, whoever asks, and whenever. Pure."""

from collections.abc import Iterable

from holdfast.diagnose import diagnose
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.recover import conclude
from holdfast.recover.deciding import decide
from holdfast.recover.decision import Decision, decision_in
from holdfast.recover.fresh import since_restart
from holdfast.recover.history import history_of, undone
from holdfast.recover.policy import Policy
from holdfast.recover.strategy import recognise
from holdfast.recover.trouble import trouble_of


def decide_by_journal(facts: Iterable[Fact], policy: Policy) -> Decision:
    """What to do now, from the facts of all attempts in the order of the journal.

    What was decided before and is not done yet is not decided again.
    """
    known = tuple(facts)
    left = undone(known)
    if left is not None:
        return decision_in(left)
    evidence = Evidence(since_restart(known))
    diagnosis = diagnose(evidence)
    trouble = trouble_of(known)
    return decide(
        diagnosis.findings,
        strategy=recognise(known, trouble.tasks).strategy,
        trouble=trouble,
        conclusion=conclude(evidence, diagnosis),
        history=history_of(known),
        policy=policy,
    )
