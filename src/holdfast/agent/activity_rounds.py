"""Looks at what the processes of tasks are doing, each compared with one before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.cluster import TaskId
from holdfast.probes.activity import Sample, Surroundings, activities, take_sample
from holdfast.probes.process import Children, children_by_parent, offspring, stat_of

FIRST_OVER_S = 0.2  # a first look tells something soon,
OVER_S_MIN = 1.0  # and the next ones tell more


@dataclass(slots=True)
class ActivityRounds:
    """All tasks at one moment, again and again."""

    pids: Mapping[TaskId, int]  # the process that trains
    host: str
    attempt: int = 1
    _samples: list[dict[TaskId, Sample]] = field(default_factory=list)
    _children: Children = field(default_factory=dict)

    def sample(self) -> None:
        """One more. The tasks are looked at right after each other; no look waits."""
        self._children = children_by_parent()
        self._samples.append(
            {task: take_sample(self._family(pid)) for task, pid in self.pids.items()}
        )

    def seen(self, at_s: float) -> list[ActivitySeen]:
        """What every task did up to the newest sample; nothing as long as there are not two."""
        if len(self._samples) < 2:  # noqa: PLR2004
            return []
        now = self._samples[-1]
        around = Surroundings(
            {pid: [one.pid for one in born] for pid, born in self._children.items()}
        )
        found: list[ActivitySeen] = []
        for task, sample in now.items():
            before = self._before(task, sample)
            found.append(
                ActivitySeen(
                    at_s=at_s,
                    host=self.host,
                    task=task,
                    attempt=self.attempt,
                    over_s=round(sample.at_s - before.at_s, 3),
                    processes=_own(activities(before, sample, around)),
                )
            )
        return found

    def _before(self, task: TaskId, now: Sample) -> Sample:
        """The newest that is long enough ago, else the oldest."""
        older = [one[task] for one in self._samples[:-1]]
        enough = [one for one in older if now.at_s - one.at_s >= OVER_S_MIN]
        return enough[-1] if enough else older[0]

    def _family(self, pid: int) -> list[int]:
        """Its parent process, and below it those that live first: we look at so many only."""
        below = sorted(offspring(pid, self._children), key=lambda one: one.state == "Z")
        stat = stat_of(pid)
        return [pid, *([stat.parent] if stat else []), *(one.pid for one in below)]


def _own(processes: tuple[ProcessActivity, ...]) -> tuple[ProcessActivity, ...]:
    """Without the parent process of the first, unless that should read what the first writes."""
    reader = processes[0].holder if processes and processes[0].does == "writes" else ""
    return tuple(
        one
        for one in processes
        if one.pid != processes[0].parent or reader.startswith(f"pid {one.pid} ")
    )
