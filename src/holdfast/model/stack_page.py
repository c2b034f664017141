"""Rounds of stacks as a page of text: who stands where, who moved, and every thread."""

from collections.abc import Iterator, Sequence

from holdfast.model.cluster import TaskId
from holdfast.model.stacks import doing, merged
from holdfast.model.watch_facts import StacksSeen, ThreadStack


def stacks_page(rounds: Sequence[Sequence[StacksSeen]]) -> str:
    """The last round in full; what the ones before it add is who moved."""
    return "\n".join(_rows(rounds)) + "\n"


def _rows(rounds: Sequence[Sequence[StacksSeen]]) -> Iterator[str]:
    newest = {seen.task: seen for seen in rounds[-1] if seen.task}
    for seen in rounds[-1][:1]:
        yield f"{seen.at_s:.1f} s after the start, by {seen.by}; {len(rounds)} looks: {seen.why}"
    yield from (group.says for group in merged(newest))
    for task, moved in moves(rounds).items():
        yield f"{task} {'moved' if moved else 'did not move'}"
    for task, seen in newest.items():
        yield ""
        yield f"{task}, pid {seen.pid}"
        for thread in seen.threads:
            yield from _thread(thread)


def moves(rounds: Sequence[Sequence[StacksSeen]]) -> dict[TaskId, bool]:
    """Whether any thread of a task, seen in all rounds, did not stand at one place."""
    found: dict[TaskId, bool] = {}
    for seen in rounds[-1] if len(rounds) > 1 else ():
        if seen.task is None:
            continue
        before = [one for look in rounds[:-1] for one in look if one.task == seen.task]
        places = [_places(one) for one in before if one.pid == seen.pid]
        if places:
            found[seen.task] = any(place != _places(seen) for place in places)
    return found


def _places(seen: StacksSeen) -> dict[int, tuple[str, ...]]:
    return {thread.thread: thread.frames for thread in seen.threads}


def _thread(thread: ThreadStack) -> Iterator[str]:
    name = thread.name or str(thread.thread)
    blocked = f", in the kernel: {thread.blocked}" if thread.blocked else ""
    yield f"  {name}: {doing(thread)}{blocked}"
    yield from (f"    {frame}" for frame in reversed(thread.frames))
    yield from (f"    holds {held}" for held in thread.holds)
