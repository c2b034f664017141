"""The stacks of tasks, for people: who stands where, and who is the odd one out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.stack_page import moves
from holdfast.model.stacks import Frame, doing, frames_of, merged
from holdfast.model.watch_facts import StacksSeen, ThreadStack
from holdfast.model.words import listed, seconds_text
from holdfast.views.finding_fact_text import activity_says
from holdfast.views.sanitise import clip, plain
from holdfast.views.wrap import hanging, wrapped

_BOLD: Final = "1"
_INDENT: Final = "    "
THREADS_SHOWN_MAX: Final = 40
KERNEL_LENGTH_MAX: Final = 400

Rounds = Sequence[Sequence[StacksSeen]]


def stacks_text(
    rounds: Rounds,
    unseen: Mapping[TaskId, str],
    activity: Mapping[TaskId, ActivitySeen],
    *,
    merge: bool,
    width: int,
    colour: bool,
) -> str:
    """With `merge`, tasks at the same place once, and only what matters of their frames."""
    rows: list[str] = []
    newest = {seen.task: seen for seen in rounds[-1] if seen.task} if rounds else {}
    moved = moves(rounds)
    groups = [group.tasks for group in merged(newest)] if merge else [(task,) for task in newest]
    for tasks in groups:
        seen = newest[tasks[0]]
        threads = seen.threads[:THREADS_SHOWN_MAX]
        head = f"{listed(tasks)}: {_state(seen)}{_moved(tasks, moved)}"
        rows += [_painted(row, colour=colour) for row in wrapped(plain(head), width)]
        for task in tasks:
            rows += _by_kernel(task, activity.get(task), width=width)
        for thread in threads:
            rows += _thread(thread, every=not merge, named=len(seen.threads) > 1, width=width)
        rows.append("")
    for task, why in unseen.items():
        rows += hanging("", wrapped(plain(f"{task}: {why}"), width))
        rows += _by_kernel(task, activity.get(task), width=width)
    rows += wrapped(plain(_closing(rounds, newest)), width)
    return "\n".join(rows) + "\n"


def _by_kernel(task: TaskId, seen: ActivitySeen | None, *, width: int) -> Iterator[str]:
    if seen is not None:
        says = clip(plain(f"{task}, by the kernel: {activity_says(seen)}"), KERNEL_LENGTH_MAX)
        yield from hanging("  ", wrapped(says, width - 2))


def stacks_shown(
    rounds: Rounds, unseen: Mapping[TaskId, str], activity: Mapping[TaskId, ActivitySeen]
) -> dict[str, Any]:
    """The same for programs."""
    newest = {seen.task: seen for seen in rounds[-1] if seen.task} if rounds else {}
    return {
        "schema": "holdfast.stacks/1",
        "rounds": [
            {"at_s": look[0].at_s, "tasks": {str(seen.task): _shown(seen) for seen in look}}
            for look in rounds
            if look
        ],
        "groups": [
            {"tasks": list(map(str, group.tasks)), "doing": group.doing.name.lower(),
             "place": list(group.place), "says": group.says}
            for group in merged(newest)
        ],
        "moved": {str(task): moved for task, moved in moves(rounds).items()},
        "unknown": {str(task): why for task, why in unseen.items()},
        "activity": {
            str(task): {"over_s": seen.over_s, "processes": list(map(asdict, seen.processes))}
            for task, seen in activity.items()
        },
    }  # fmt: skip


def _shown(seen: StacksSeen) -> dict[str, Any]:
    return {
        "pid": seen.pid,
        "by": seen.by,
        "threads": [
            {
                "thread": thread.thread,
                "name": thread.name,
                "doing": doing(thread).name.lower(),
                "running": thread.running,
                "blocked": thread.blocked,
                "frames": list(thread.frames),
                "holds": list(thread.holds),
                "has_gil": thread.has_gil,
            }
            for thread in seen.threads
        ],
    }


def _state(seen: StacksSeen) -> str:
    return str(doing(seen.threads[0]))


def _moved(tasks: Sequence[TaskId], moved: Mapping[TaskId, bool]) -> str:
    known = [moved[task] for task in tasks if task in moved]
    if not known:
        return ""
    if all(known) or not any(known):
        return " (moved)" if known[0] else " (did not move)"
    return f" ({listed(task for task in tasks if moved.get(task))} moved)"


def _thread(thread: ThreadStack, *, every: bool, named: bool, width: int) -> Iterator[str]:
    if named:
        name = thread.name or f"thread {thread.thread}"
        yield clip(f"  {plain(name)}: {doing(thread)}", width)
    skipped = 0
    frames = frames_of(thread)[::-1]
    for number, frame in enumerate(frames):
        if every or not number or not frame.is_library:
            yield from _skipped(skipped, width=width)
            skipped = 0
            yield from _frame(frame, width=width)
        else:
            skipped += 1
    yield from _skipped(skipped, width=width)
    for held in thread.holds:
        yield from hanging(_INDENT, wrapped(plain(f"holds {held}"), width - len(_INDENT)))


def _frame(frame: Frame, *, width: int) -> Iterator[str]:
    where = plain(f"{frame.function} at {frame.file}:{frame.line}")
    yield from hanging(_INDENT, wrapped(where, width - len(_INDENT)))
    if frame.code:
        yield clip(f"{_INDENT}  {plain(frame.code)}", width)


def _skipped(count: int, *, width: int) -> Iterator[str]:
    if count:
        frames = "frame" if count == 1 else "frames"
        yield clip(f"{_INDENT}… {count} {frames} of libraries", width)


def _closing(rounds: Rounds, newest: Mapping[TaskId, StacksSeen]) -> str:
    if not newest:
        return "nobody's Python stacks could be read"
    times = [look[0].at_s for look in rounds if look]
    apart = f", {seconds_text(times[-1] - times[0])} apart" if len(times) > 1 else ""
    looks = "one look" if len(times) == 1 else f"{len(times)} looks"
    tasks = "1 task" if len(newest) == 1 else f"{len(newest)} tasks"
    by = listed(dict.fromkeys(seen.by for seen in newest.values()))
    return f"{looks} at {tasks}{apart}, by {by}; no task was stopped for it"


def _painted(row: str, *, colour: bool) -> str:
    return f"\x1b[{_BOLD}m{row}\x1b[0m" if colour else row
