"""Whole lives of jobs as stories: facts in, `>` orders out. UPDATE=1 rewrites the orders.

A story begins with `tasks:`, and `grace_s:` if it is not 15; it has a `start_deadline_s:` and
a `preempt_signal:` only if it says so. Lines with `#` are for the reader.
"""

import os
from pathlib import Path

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.codec import decode
from holdfast.model.orders import (
    EndAttempt,
    Order,
    SaveStacks,
    SendSignal,
    StartAgain,
    TellStart,
)
from holdfast.model.signals import signal_name
from holdfast.recover.life import Life, advance

STORIES = sorted((Path(__file__).parent.parent / "lives").glob("*.txt"))


def retell(story: str) -> str:
    setting = dict(line.split(": ", 1) for line in story.splitlines() if line[:1].isalpha())
    tasks = tuple(map(TaskId.parse, setting["tasks"].split()))
    life = Life(
        tasks=tasks,
        grace_s=float(setting.get("grace_s", "15")),
        start_deadline_s=float(setting.get("start_deadline_s", "inf")),
        preempt_signal=int(setting.get("preempt_signal", "15")),
    )
    told: list[str] = []
    for line in story.splitlines():
        if line.startswith(">"):
            continue
        told.append(line)
        if line.startswith("{"):
            life, orders = advance(life, decode(line))
            told += [f"> {in_words(order)}" for order in orders]
    return "\n".join(told) + "\n"


def in_words(order: Order) -> str:
    match order:
        case SendSignal():
            return f"send {signal_name(order.signal)} to {order.task}: {order.why}"
        case EndAttempt():
            return f"end the attempt: {order.why}"
        case SaveStacks():
            return f"save the stacks of {' '.join(map(str, order.tasks))}: {order.why}"
        case StartAgain():
            return f"start {order.task} again: {order.why}"
        case TellStart(over_s=None):
            return f"tell: {order.says}"
        case TellStart():
            return f"give up the start after {order.over_s:g} s: {order.says}"
    return f"watch whether {order.task} is idle for {order.idle_s:g} s"


def test_there_are_stories() -> None:
    assert STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    story = path.read_text()
    if os.environ.get("UPDATE"):
        story = retell(story)
        path.write_text(story)
    assert retell(story) == story
    assert story.rstrip().rpartition("\n")[2].startswith("> end the attempt"), "tell it to its end"
