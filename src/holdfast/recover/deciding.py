"""From findings to one decision: what is done about a failure, within the budget, and why. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.findings import TRY_AGAIN_CODE, Confidence, Finding, Severity
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.remedies import AskHuman, Relaunch, ReplaceHost, WaitAndSee
from holdfast.recover import Conclusion
from holdfast.recover.backoff import backoff_s
from holdfast.recover.decision import (
    Action,
    Ask,
    Change,
    Decision,
    Ending,
    GoOn,
    LeaveHost,
    RelaunchAll,
    RestartTasks,
    Stop,
    Wait,
)
from holdfast.recover.history import History
from holdfast.recover.policy import OnFailure, Policy
from holdfast.recover.strategy import Strategy, why_all
from holdfast.recover.trouble import Trouble

ATTEMPTS_LOST_MAX = 1  # by one host: at the next, we leave it
_NEVER_ACTED_ON = frozenset({Ending.PREVIEW, Ending.GUESS, Ending.NO_REMEDY, Ending.POLICY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All that one decision is made from."""

    root: Finding
    strategy: Strategy
    trouble: Trouble
    history: History
    policy: Policy

    @property
    def culprit(self) -> TaskId | None:
        return self.root.proof.culprit

    @property
    def says(self) -> str:
        """The root cause in short: how it is known stands in the report."""
        return self.root.proof.says.partition(";")[0]

    @property
    def culprit_host(self) -> str:
        return self.trouble.hosts.get(self.culprit, "") if self.culprit else ""

    @property
    def same_before(self) -> tuple[RemedyDecided, ...]:
        """What was done when the same came at the same step."""
        return self.history.same(self.root.name, self.culprit, self.trouble.step)

    @property
    def waited(self) -> tuple[RemedyDecided, ...]:
        """What it was given so far to go over by itself."""
        trouble = self.trouble
        return self.history.waited(self.root.name, attempt=trouble.attempt, at_s=trouble.at_s)


def decide(
    findings: Sequence[Finding],
    *,
    strategy: Strategy,
    trouble: Trouble,
    conclusion: Conclusion,
    history: History,
    policy: Policy,
) -> Decision:
    """The root cause decides; `conclusion` is how the attempt would end if nothing is done."""
    code = conclusion.exit_code
    if trouble.asked or trouble.trained:
        over = Ending.ASKED if trouble.asked else Ending.TRAINED
        return Decision(action=Stop(over, code), reason=conclusion.why, step=trouble.step)
    root = next((found for found in findings if found.severity is Severity.ERROR), None)
    if root is None:
        goes_on = bool(trouble.training)
        action = GoOn(Ending.NO_CAUSE) if goes_on else Stop(Ending.NO_CAUSE, code)
        return Decision(action=action, reason=conclusion.why, step=trouble.step)
    case = Case(root=root, strategy=strategy, trouble=trouble, history=history, policy=policy)
    ending = _why_never(case)
    if ending is not None:
        return _stop(case, ending, code)
    wait_s = _wait_s(case)
    if wait_s is not None:
        return _decision(case, Wait(), f"{case.says}; it may go over", wait_s)
    if _is_loop(case):
        return _stop(case, Ending.LOOP, code)
    return _changed(case, code)


def _why_never(case: Case) -> Ending | None:
    """What no budget and no back end changes."""
    root = case.root
    if root.cause.preview:
        return Ending.PREVIEW
    if root.proof.confidence is Confidence.GUESS:
        return Ending.GUESS
    if isinstance(root.remedy, AskHuman):
        return Ending.NO_REMEDY
    return None


def _is_loop(case: Case) -> bool:
    """What comes from outside comes again at the same step for as long as it lasts there."""
    attempt = case.trouble.attempt
    return any(one.attempt < attempt or not _may_heal(case) for one in case.same_before)


def _may_heal(case: Case) -> bool:
    return isinstance(case.root.remedy, WaitAndSee | ReplaceHost)


def _wait_s(case: Case) -> float | None:
    """How long it is given to go over; None: it had its time, or somebody ended over it."""
    remedy, trouble = case.root.remedy, case.trouble
    if not isinstance(remedy, WaitAndSee | ReplaceHost):
        return None
    ended = case.culprit in trouble.failed or trouble.doomed
    waited = len(case.waited)
    if ended or not trouble.training or waited >= len(remedy.waits_s):
        return None
    return remedy.waits_s[waited]


def _changed(case: Case, code: int) -> Decision:
    """Restart, relaunch or leave a host: the least that helps, if the budget has it."""
    policy, history = case.policy, case.history
    if policy.on_failure is OnFailure.STOP:
        return _stop(case, Ending.POLICY, code)
    if policy.on_failure is OnFailure.ASK and history.declined:
        return _stop(case, Ending.DECLINED, code)
    alone = _alone(case)
    if alone:
        tries = max(history.restarts.get(task, 0) for task in alone)
        change: Change = RestartTasks(alone)
        why = f"{case.says}; {_listed_alone(case, alone)}"
        wait_s = backoff_s(tries, seed=case.trouble.seed)
    else:
        if history.relaunches >= policy.relaunches_max:
            return _stop(case, Ending.BUDGET, code)
        if _needs_host(case) and not _can_leave(case):
            return _stop(case, Ending.HOST, TRY_AGAIN_CODE)
        change = _relaunch(case)
        number = f"relaunch {history.relaunches + 1} of {policy.relaunches_max}"
        why = f"{case.says}; {_why_all(case)} ({number})"
        wait_s = backoff_s(history.relaunches, seed=case.trouble.seed)
    action = Ask(change) if policy.on_failure is OnFailure.ASK else change
    return _decision(case, action, why, wait_s)


def _alone(case: Case) -> tuple[TaskId, ...]:
    """Who failed or hangs, if all of them may come back alone; nobody, if the whole job must."""
    remedy = case.root.remedy
    fresh_ports = isinstance(remedy, Relaunch) and remedy.fresh_ports
    out = _out(case)
    if case.culprit is None or fresh_ports or _needs_host(case) or not case.trouble.training - out:
        return ()
    worn = bool(case.same_before) or any(
        case.history.restarts.get(task, 0) >= case.policy.restarts_max for task in out
    )
    return () if worn or _reasons(case) else tuple(sorted(out))


def _out(case: Case) -> frozenset[TaskId]:
    return case.trouble.failed | ({case.culprit} if case.culprit else set())


def _reasons(case: Case) -> list[str]:
    """Why not each of them alone, the culprit's first."""
    order = sorted(_out(case), key=lambda task: (task != case.culprit, task))
    reasons = (why_all(case.strategy, task, case.trouble.tasks) for task in order)
    return [why for why in reasons if why]


def _listed_alone(case: Case, tasks: Sequence[TaskId]) -> str:
    if all(task.role == "evaluator" for task in tasks):
        return "nobody waits for an evaluator, so it restarts alone"
    return f"with {case.strategy} a worker may come back alone"


def _why_all(case: Case) -> str:
    """Why nothing less than a new attempt helps."""
    if _leaves(case):
        return f"{case.culprit_host} is to be left"
    trains = case.trouble.training - _out(case)
    other = "a restart alone does not help" if trains else "nobody trains any more"
    return next(iter(_reasons(case)), other)


def _needs_host(case: Case) -> bool:
    return isinstance(case.root.remedy, ReplaceHost)


def _can_leave(case: Case) -> bool:
    return case.policy.replaces_hosts and bool(case.culprit_host)


def _leaves(case: Case) -> bool:
    """A host that is gone; or one of several that has cost an attempt before."""
    lost = case.history.attempts_lost_by(case.culprit_host) >= ATTEMPTS_LOST_MAX
    several = len(set(case.trouble.hosts.values())) > 1
    return _can_leave(case) and (_needs_host(case) or (lost and several))


def _relaunch(case: Case) -> Change:
    if _leaves(case):
        return LeaveHost(case.culprit_host)
    remedy = case.root.remedy
    return RelaunchAll(fresh_ports=isinstance(remedy, Relaunch) and remedy.fresh_ports)


def _stop(case: Case, ending: Ending, code: int) -> Decision:
    """A loop ends as a failure: whoever retries us on 75 would go on with it.

    Nobody who trains on is ended for what another one did; but who hangs in something that did
    not go over would hang for ever.
    """
    reason = f"{case.says}; {ending}"
    hangs = case.culprit not in case.trouble.failed and ending not in _NEVER_ACTED_ON
    if case.trouble.training - _out(case) and not hangs:
        return _decision(case, GoOn(ending), reason, 0.0)
    return _decision(case, Stop(ending, 1 if ending is Ending.LOOP else code), reason, 0.0)


def _since_s(root: Finding) -> float:
    """When it began, as far as it was seen."""
    return min(fact.at_s - getattr(fact, "lasting_s", 0.0) for fact in root.proof.facts)


def _decision(case: Case, action: Action, reason: str, wait_s: float) -> Decision:
    return Decision(
        action=action,
        reason=reason,
        wait_s=wait_s,
        cause=case.root.name,
        culprit=case.culprit,
        culprit_host=case.culprit_host,
        step=case.trouble.step,
        since_s=round(_since_s(case.root), 3),
    )
