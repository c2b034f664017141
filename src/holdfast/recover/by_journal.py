"""One decision from all that a job's journal holds: the same, whoever asks, and whenever. Pure."""

from collections.abc import Iterable, Sequence

from holdfast.diagnose import diagnose
from holdfast.diagnose.states import SURE
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, ProbeBlind, StopAsked
from holdfast.model.findings import Finding, Severity
from holdfast.model.remedies import AskHuman, WaitAndSee
from holdfast.recover import SIGNAL_EXIT_BASE, Conclusion, conclude
from holdfast.recover.deciding import Case, decide
from holdfast.recover.decision import (
    Decision,
    Ending,
    GoOn,
    RestartTasks,
    Stop,
    Wait,
    decision_in,
)
from holdfast.recover.fresh import since_restart
from holdfast.recover.hanging import stands_still
from holdfast.recover.history import history_of, over_s, undone
from holdfast.recover.policy import Policy
from holdfast.recover.strategy import recognise
from holdfast.recover.trouble import Trouble, trouble_of

DECIDED_WITHIN_S = 30.0  # after a failure: then all is known that will be
WAITS_MAX = 60  # in one attempt: what comes and goes so often is left to a person
EARLY_S = 0.05  # clocks are rounded


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


def decide_while_it_runs(
    facts: Iterable[Fact], findings: Sequence[Finding], policy: Policy, *, at_s: float
) -> Decision | None:
    """What to do at once, while tasks of the attempt still live; None: nothing, for now.

    Only about a cause that is sure; and nobody who trains on is ended for it.
    """
    known = tuple(facts)
    root = next((found for found in findings if found.severity is Severity.ERROR), None)
    if root is None or not _may_be_acted_on(root) or undone(known) is not None:
        return None
    trouble = trouble_of(known, at_s=at_s)
    over = trouble.asked or trouble.trained or not trouble.training
    if over or _is_old(root, trouble) or _is_holder_gone(known, trouble):
        return None
    case = Case(
        root=root,
        strategy=recognise(known, trouble.tasks).strategy,
        trouble=trouble,
        history=history_of(known),
        policy=policy,
    )
    decision = decide(
        findings,
        strategy=case.strategy,
        trouble=trouble,
        conclusion=Conclusion(root.proof.exit_code, root.proof.says),
        history=case.history,
        policy=policy,
    )
    return decision if _is_for_now(decision, case) else None


def _may_be_acted_on(root: Finding) -> bool:
    is_ours = not root.cause.preview and not isinstance(root.remedy, AskHuman)
    return is_ours and root.proof.confidence in SURE


def _is_old(root: Finding, trouble: Trouble) -> bool:
    """A failure that nothing was done about when it was new."""
    last_s = max(fact.at_s for fact in root.proof.facts)
    return root.proof.culprit in trouble.failed and trouble.at_s - last_s > DECIDED_WITHIN_S


def _is_holder_gone(facts: Iterable[Fact], trouble: Trouble) -> bool:
    """Then nobody could be started again, and who is ended is lost."""
    blind = (fact for fact in facts if isinstance(fact, ProbeBlind))
    return any(fact.probe == "holder" and fact.attempt == trouble.attempt for fact in blind)


def _is_for_now(decision: Decision, case: Case) -> bool:
    """Whether nothing is gained by waiting for the end of the attempt, and nobody is hurt."""
    trouble, action = case.trouble, decision.action
    alone = isinstance(action, RestartTasks)
    if trouble.doomed:
        return not isinstance(action, GoOn)
    if isinstance(action, GoOn) or case.culprit in trouble.failed:
        return alone
    waited_s = over_s(case.waited[-1]) if case.waited else 0.0
    if trouble.at_s < waited_s - EARLY_S:
        return False  # it is given its time
    if isinstance(action, Wait):
        return len(case.history.waits) < WAITS_MAX
    remedy = case.root.remedy
    if alone and isinstance(remedy, WaitAndSee) and remedy.culprit_stands:
        return True
    since_s = case.waited[-1].at_s if case.waited else case.root.proof.since_s
    return stands_still(trouble, strategy=case.strategy, culprit=case.culprit, since_s=since_s)
