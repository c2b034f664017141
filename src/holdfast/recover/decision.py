"""What can be done about a failure, in types and in words."""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.cluster import TaskId
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.words import listed


class Ending(StrEnum):
    """Why a job is not brought back."""

    ASKED = "somebody asked for the end"
    TRAINED = "the training had come to its end"
    NO_CAUSE = "no cause is proven"
    PREVIEW = "the cause is reported, not acted on"
    GUESS = "the cause is only a guess"
    NO_REMEDY = "no relaunch can fix this"
    LOOP = "the same failure came twice at the same step"
    BUDGET = "no relaunches are left"
    HOST = "the host is gone, and no other can be had here"
    POLICY = "recovery is off"
    DECLINED = "somebody said no"
    UNABLE = "it cannot be started again"


@dataclass(frozen=True, slots=True)
class RestartTasks:
    """The same tasks again, at their old addresses, while the others go on."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class RelaunchAll:
    """A new attempt from the last good checkpoint."""

    fresh_ports: bool = False


@dataclass(frozen=True, slots=True)
class LeaveHost:
    """A new attempt from the last good checkpoint, on other hosts than this one."""

    host: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing for now: look again after the decision's `wait_s`."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Nothing is done about it: the others train on without it."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Stop:
    """The job ends with this verdict."""

    ending: Ending
    exit_code: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides whether this is done."""

    would: "RestartTasks | RelaunchAll | LeaveHost"


Change = RestartTasks | RelaunchAll | LeaveHost
Action = Change | Wait | GoOn | Stop | Ask
NAMES: dict[type[Action], str] = {
    RestartTasks: "restart",
    RelaunchAll: "relaunch",
    LeaveHost: "replace",
    Wait: "wait",
    GoOn: "go-on",
    Stop: "stop",
    Ask: "ask",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    action: Action
    reason: str  # one sentence
    wait_s: float = 0.0
    cause: str = ""
    culprit: TaskId | None = None
    culprit_host: str = ""
    step: int = -1
    since_s: float = -1.0  # since when the cause held

    def to_fact(self, *, at_s: float, host: str, attempt: int) -> RemedyDecided:
        """For the journal, from which the next decision is made."""
        does = self.action.would if isinstance(self.action, Ask) else self.action
        return RemedyDecided(
            at_s=at_s,
            host=host,
            attempt=attempt,
            remedy=NAMES[type(self.action)],
            reason=self.reason,
            cause=self.cause,
            culprit=self.culprit,
            culprit_host=self.culprit_host,
            step=self.step,
            since_s=self.since_s,
            wait_s=self.wait_s,
            tasks=tuple(map(str, does.tasks)) if isinstance(does, RestartTasks) else (),
            fresh_ports=isinstance(does, RelaunchAll) and does.fresh_ports,
            exit_code=does.exit_code if isinstance(does, Stop) else -1,
            ending=does.ending if isinstance(does, Stop | GoOn) else "",
            would=NAMES[type(does)] if isinstance(self.action, Ask) else "",
        )

    def in_words(self) -> str:
        """What will be done and why, for `--dry-run` and for the end of a run."""
        after = f" in {self.wait_s:.0f} s" if self.wait_s >= 1 else ""
        return f"{_in_words(self.action)}{after}: {self.reason}"


def decision_in(fact: RemedyDecided) -> Decision:
    """What a journal says was decided. A remedy of a newer Holdfast is left to a person."""
    return Decision(
        action=_action_in(fact),
        reason=fact.reason,
        wait_s=fact.wait_s,
        cause=fact.cause,
        culprit=fact.culprit,
        culprit_host=fact.culprit_host,
        step=fact.step,
        since_s=fact.since_s,
    )


def _action_in(fact: RemedyDecided) -> Action:
    match fact.remedy:
        case "wait":
            return Wait()
        case "ask":
            return Ask(_change_in(fact, fact.would))
        case "restart" | "relaunch" | "replace" as name:
            return _change_in(fact, name)
    known = fact.ending in list(Ending)
    ending = Ending(fact.ending) if known else Ending.POLICY
    if fact.remedy == "go-on":
        return GoOn(ending)
    return Stop(ending, fact.exit_code if fact.exit_code >= 0 else 1)


def _change_in(fact: RemedyDecided, name: str) -> Change:
    if name == "restart":
        return RestartTasks(tuple(map(TaskId.parse, fact.tasks)))
    return LeaveHost(fact.culprit_host) if name == "replace" else RelaunchAll(fact.fresh_ports)


def _in_words(action: Action) -> str:
    match action:
        case RestartTasks(tasks=tasks):
            return f"restart {listed(tasks)}"
        case RelaunchAll(fresh_ports=fresh):
            return "relaunch all tasks" + (" on other ports" if fresh else "")
        case LeaveHost(host=host):
            return f"relaunch all tasks without {host}"
        case Wait():
            return "look again"
        case GoOn():
            return "go on without it"
        case Ask(would=would):
            return f"ask whether to {_in_words(would)}"
    return f"stop with exit code {action.exit_code}"
