"""Where the words of causes stand in logs, and whom they blame."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.diagnose.log_places import (
    AT_AN_ADDRESS,
    IN_A_DEVICE,
    address_in,
    device_in,
    place_of,
)
from holdfast.diagnose.log_records import in_short, text_of
from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId, is_plain_name
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause
from holdfast.model.log_names import task_in_name
from holdfast.model.named_tasks import named_tasks, tasks_in
from holdfast.model.pattern import Pattern, WhichOf
from holdfast.model.tracebacks import own_frames
from holdfast.model.wording import Weight, Words

_RANK = Pattern(r"(?i)\brank(?:s|\(s\))?[ \t:=#\[]*(\d+)")
_PLACE_LENGTH_MAX = 120
ADDRESS_WITHIN = 1_000
# Who could not listen is told by the log's name, also where two logs claim to be of one task.
LISTENS = "port-conflict"
_DEVICES = frozenset({"cpu", "cuda", "gpu", "tpu", "xpu"})  # written as tasks are: gpu:0
_MAPPED = "::ffff:"
_NO_CLUSTER = "localhost"  # TensorFlow's name for a task that is alone


@dataclass(frozen=True, slots=True)
class Hit:
    """One cause's words, found in one record."""

    name: str
    cause: Cause
    words: Words
    fact: LogLine | TracebackSeen
    culprit: TaskId | None
    place: str  # what is to blame where that is no task
    says: str

    @property
    def is_symptom(self) -> bool:
        return self.words.weight is Weight.SYMPTOM


class Vocabulary:
    """The words of many causes, found in a text all at once."""

    def __init__(self, causes: Mapping[str, Cause]) -> None:
        self._listed = [
            (name, cause, words) for name, cause in causes.items() for words in cause.words
        ]

    def hits(self, records: Sequence[LogLine | TracebackSeen]) -> Iterator[Hit]:
        """Where causes' words stand, in the order of the records: each cause once in each."""
        for fact in records:
            best: dict[str, Hit] = {}
            for hit in self._all_in(fact):
                known = best.get(hit.name)
                if known is None or _telling(hit) > _telling(known):
                    best[hit.name] = hit
            yield from best.values()

    def _all_in(self, fact: LogLine | TracebackSeen) -> Iterator[Hit]:
        text = text_of(fact)
        for place in self._which.matching(text):
            name, cause, words = self._listed[place]
            found = words.pattern.search(text)
            if found is not None and not (words.unless and words.unless.search(text)):
                if words.own_line and not _is_led_to(fact, words.own_line):
                    continue
                yield _hit(name, cause, words, fact, found)

    @cached_property
    def _which(self) -> WhichOf:
        return WhichOf(words.pattern for _, _, words in self._listed)


def _is_led_to(fact: LogLine | TracebackSeen, own_line: Pattern) -> bool:
    own = own_frames(fact.frames) if isinstance(fact, TracebackSeen) else []
    return bool(own) and own_line.search(own[-1]) is not None


def _telling(hit: Hit) -> tuple[int, bool]:
    """Of one cause's words in one record, the weightiest count, and those that blame somebody."""
    return hit.words.weight, bool(hit.culprit or hit.place)


def task_in(words: str) -> TaskId | None:
    """The one task or rank that some words name."""
    if named := tasks_in(words):
        return named[0]
    if found := _RANK.search(words):
        return _task("rank", found.group(1))
    role, _, index = words.strip().partition(":")
    return None if role.lower() in _DEVICES else _task(role, index)


def blamed_as(named: str) -> tuple[TaskId | None, str]:
    """Who is meant by a log's own words: a task where it is one, else the words themselves."""
    task = task_in(named)
    return task, "" if task else _plain(named)[:_PLACE_LENGTH_MAX]


def _task(role: str, index: str) -> TaskId | None:
    plain = index.isascii() and index.isdigit() and len(index) <= INDEX_DIGITS_MAX
    return TaskId(role, int(index)) if plain and is_plain_name(role) else None


def _hit(name: str, cause: Cause, words: Words, fact: LogLine | TracebackSeen, found: Any) -> Hit:
    groups = {group: text or "" for group, text in found.groupdict().items()}
    named = groups.get("culprit") or (groups.get("rank") and f"rank {groups['rank']}") or ""
    if groups.get("host"):
        named = f"{named} on {groups['host']}" if named else groups["host"]
    culprit, place = _blamed(words, fact, named)
    if culprit is None and not named and cause.family in AT_AN_ADDRESS:
        place = address_in(in_short(text_of(fact), length_max=ADDRESS_WITHIN)) or place
    if culprit is None and not named and cause.family in IN_A_DEVICE:
        place = device_in(text_of(fact)) or place
    if culprit is None and cause.family == LISTENS and (culprit := task_in_name(fact.source)):
        place = ""
    return Hit(
        name=name,
        cause=cause,
        words=words,
        fact=fact,
        culprit=culprit,
        place=place,
        says=_sentence(
            words,
            who=str(culprit or place or fact.task or "the job"),
            speaker=str(fact.task or fact.source or "the log"),
            groups={**groups, "line": _line_at(fact, found.start())},
        ),
    )


def _line_at(fact: LogLine | TracebackSeen, place: int) -> str:
    """The line of a record in which the words begin."""
    text = text_of(fact)
    return in_short(text[text.rfind("\n", 0, place) + 1 :])


def _blamed(words: Words, fact: LogLine | TracebackSeen, named: str) -> tuple[TaskId | None, str]:
    """Who the words blame: a task where it is one, else the words themselves."""
    if words.blames_nobody:
        return None, ""
    if named and not (words.of_speaker and fact.task):
        return blamed_as(named)
    if words.blames_named or words.weight is Weight.SYMPTOM:
        others = [task for task in named_tasks(fact) if task != fact.task]
        return (others[0] if others else None), ""
    if fact.task:
        return fact.task, ""
    return _nearest(fact)


def _nearest(fact: LogLine | TracebackSeen) -> tuple[TaskId | None, str]:
    """Of a log of nobody in particular: the line of the program, the one task named, the host."""
    if place := place_of(fact):
        return None, place
    named = {task for task in tasks_in(text_of(fact)) if task.role != _NO_CLUSTER}
    if len(named) == 1:
        return named.pop(), ""
    return None, fact.host


def _plain(place: str) -> str:
    """Brackets are for addresses of IPv6, and an IPv4 address in one of those is still one."""
    plain = place.strip().replace(_MAPPED, "")
    return plain if "::" in plain else plain.replace("[", "").replace("]", "")


def _sentence(words: Words, *, who: str, speaker: str, groups: Mapping[str, str]) -> str:
    """What the words mean for a person; by default, who says what."""
    if not words.says:
        about = f"{who}: " if who not in {speaker, "the job"} else ""
        return f"{about}{speaker} says: {groups['line']}"
    filled = words.says
    for name, text in {**groups, "who": who}.items():
        filled = filled.replace(f"{{{name}}}", in_short(text) or "?")
    return filled
