"""What was decided about a failure, and what the next attempt begins with."""

from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyDecided(Fact):
    """What we will do about a failure, and why. `attempt` is the one that failed."""

    remedy: str  # restart, relaunch, replace, wait, go-on, stop, ask
    reason: str
    cause: str = ""  # the root cause's name; empty: none is proven
    culprit: TaskId | None = None
    culprit_host: str = ""
    step: int = -1  # how far the training had come; -1: nobody knows
    since_s: float = -1.0  # since when the cause held, as far as it was seen; -1: nobody knows
    wait_s: float = 0.0  # before it is done
    tasks: tuple[str, ...] = ()  # whom to restart
    fresh_ports: bool = False
    exit_code: int = -1  # of a stop
    ending: str = ""  # why nothing is brought back: one of those in recover/decision.py
    would: str = ""  # of an ask: what is done if somebody says yes
    dry_run: bool = False  # only told: nobody does it, and it costs nothing of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyAnswered(Fact):
    """Somebody was asked whether to do what was decided last."""

    by: str
    yes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChosen(Fact):
    """What the next attempt begins from. An empty path: there is nothing, it begins anew."""

    path: str
    form: str = ""  # one of those in recover/checkpoints.py
    step: int = -1  # -1: its name and files do not tell
    steps_lost: int = -1  # since it was written; -1: nobody knows
    passed_over: tuple[str, ...] = ()  # newer ones, each with the reason
    read_whole: bool = False  # every tensor of it was read; else only names and sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSaved(Fact):
    """Whether a checkpoint was written after somebody asked for the end. An empty path: none."""

    asked_s: float  # on the clock of this attempt
    path: str = ""
    form: str = ""  # one of those in recover/checkpoints.py
    step: int = -1  # -1: its name and files do not tell
    written_s: float = -1.0  # on the clock of this attempt
    reached_step: int = -1  # that the training had come to; -1: nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRead(Fact):
    """The words of a task's own program that tell how it distributes its training, and saves it."""

    path: str
    mentions: tuple[str, ...]
