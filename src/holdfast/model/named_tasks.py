"""The tasks that a text speaks of, in TensorFlow's own way of writing them."""

from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId, is_plain_name
from holdfast.model.facts import Fact, LogLine, TracebackSeen
from holdfast.model.pattern import Pattern

_NAMED = Pattern(r"/job:([a-z][a-z0-9_-]*)/(?:replica:\d+/)?task:(\d+)")
# The innermost call is the one that failed: an outer headline often names a healthy task.
_TARGET = Pattern(r"remote target /job:([a-z][a-z0-9_-]*)/(?:replica:\d+/)?task:(\d+)")
# A node that receives from another task names both: it waits for the one that sends.
_SENDER = Pattern(r'send_device="/job:([a-z][a-z0-9_-]*)/(?:replica:\d+/)?task:(\d+)')
# An error that another task sent is quoted as a message, with the call that failed there in it.
_QUOTED_TARGET = Pattern(r"grpc_message:.*remote target /job:")
NAMES_MAX = 64


def tasks_in(text: str) -> tuple[TaskId, ...]:
    """Every task a text names, in the order of their first mention."""
    return _all(_NAMED, text)


def named_tasks(fact: Fact) -> tuple[TaskId, ...]:
    """Whom a line or a traceback speaks of: the targets of failed calls where it says so."""
    return call_targets(fact) or _all(_SENDER, _text(fact)) or tasks_in(_text(fact))


def call_targets(fact: Fact) -> tuple[TaskId, ...]:
    """The tasks whose calls failed, innermost first: every hop adds itself at the end."""
    return _all(_TARGET, _text(fact))


def own_call_target(fact: Fact) -> TaskId | None:
    """Whom a task could not call itself; none where it repeats what happened to another."""
    targets = call_targets(fact)
    if len(targets) != 1 or _QUOTED_TARGET.search(_text(fact)):
        return None
    return targets[0]


def _text(fact: Fact) -> str:
    match fact:
        case LogLine():
            return fact.text
        case TracebackSeen():
            return fact.message
    return ""


def _all(pattern: Pattern, text: str) -> tuple[TaskId, ...]:
    found: dict[TaskId, None] = {}
    for match in pattern.each(text):
        role, index = match.group(1), match.group(2)
        if is_plain_name(role) and len(index) <= INDEX_DIGITS_MAX:
            found[TaskId(role, int(index))] = None
        if len(found) == NAMES_MAX:
            break
    return tuple(found)
