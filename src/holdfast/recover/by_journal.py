"""One decision from all that a job's journal holds: the same, whoever asks, and whenever. Pure."""

from collections.abc import Iterable

from holdfast.diagnose import diagnose
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, StopAsked
from holdfast.recover import SIGNAL_EXIT_BASE, conclude
from holdfast.recover.deciding import decide
from holdfast.recover.decision import Decision, Ending, Stop, decision_in
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


def decide_at_the_end(facts: Iterable[Fact], policy: Policy) -> Decision:
    """What to do once every task of an attempt has ended, for whatever reason.

    A restart that came too late is not to be done any more; and whoever asks for the end while
    a relaunch waits for its time gets it.
    """
    known = tuple(facts)
    left = undone(known)
    if left is None:
        return decide_by_journal(known, policy)
    if (left.would or left.remedy) == "restart":
        return decide_by_journal((fact for fact in known if fact is not left), policy)
    since = known[known.index(left) :]
    asked = next((fact for fact in since if isinstance(fact, StopAsked)), None)
    if asked is None:
        return decision_in(left)
    code = SIGNAL_EXIT_BASE + asked.signal
    return Decision(action=Stop(Ending.ASKED, code), reason=f"stopped by {asked.by}")
