"""One task of a standstill: where it stands among the others, since when, doing what."""

from dataclasses import dataclass

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.doing_words import doing_words, is_working, stopped_child
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.stance import Stance
from holdfast.model.watch_facts import StacksSeen, TaskStill, TaskWaits


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTask:
    """One task that stands still, or that others wait for, by the newest looks at it."""

    task: TaskId
    stance: Stance
    since_s: float  # it does nothing, or takes no step
    usual_s: float = 0.0  # the longest before; 0: it has no habit yet
    told: TaskStill | TaskWaits | None = None
    look: StacksSeen | None = None
    activity: ActivitySeen | None = None
    exited: TaskExited | None = None

    @property
    def words(self) -> str:
        if self.exited is not None:
            return f"it has ended with exit code {self.exited.exit_code}"
        return doing_words(self.look, self.activity)

    @property
    def at_least(self) -> bool:
        return isinstance(self.told, TaskWaits) and self.told.at_least

    @property
    def is_unstepped(self) -> bool:
        """Whether it moves, has told no step for long, and nobody knows how long they take."""
        return isinstance(self.told, TaskWaits) and self.told.unstepped

    @property
    def works(self) -> bool:
        return is_working(self.look, self.activity)

    @property
    def is_stuck(self) -> bool:
        """Whether it cannot go on by itself: the process that it waits for is stopped."""
        return stopped_child(self.activity) is not None

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in (self.told, self.look, self.activity, self.exited) if fact)
