"""What was put in front of a log line, by whom, and what was said: prefixes may be nested."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from holdfast.model.cluster import TaskId
from holdfast.model.log_json import record_in
from holdfast.model.log_names import task_in_name
from holdfast.model.log_times import (
    CLOCK,
    DATE,
    MONTH_DAY,
    WEEKDAY,
    ZONE,
    is_dated,
    seconds_in,
)
from holdfast.model.pattern import Pattern, WhichOf
from holdfast.model.steps import without_escapes

ROUNDS_MAX = 8
LOOKED_AT_MAX = 600  # characters in which one prefix ends
LABELLED_MIN = 3  # lines with a number and a colon, before that means anything
_LEVELS: Final = {
    **dict.fromkeys(("I", "D", "TRACE", "DEBUG", "INFO", "NOTICE", "DEFAULT"), "I"),
    **dict.fromkeys(("W", "WARN", "WARNING"), "W"),
    **dict.fromkeys(("E", "ERROR", "ERR", "SEVERE"), "E"),
    **dict.fromkeys(("F", "FATAL", "CRITICAL", "ALERT", "EMERGENCY"), "F"),
}
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|SEVERE)"
_FILE = r"[^\s\]:]{1,200}:\d{1,6}"
_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{0,252})"


@dataclass(frozen=True, slots=True)
class Said:
    """A line without what stands in front of it, and what that told."""

    text: str
    at_unix_s: float | None = None  # in UNDATED_YEAR where the line tells no year
    is_local: bool = False  # nobody says in which zone that is
    level: str = ""  # I, W, E, F; empty: it does not say
    task: TaskId | None = None
    host: str = ""
    speaker: str = ""  # who writes, where several write to one stream; as the prefix has it
    stream: str = ""
    carried: str = ""  # the line without what a carrier put there: who, and when it came by
    whole: str = ""  # all of it, as a person would read it: no colours, no JSON
    is_record: bool = False  # it begins a record of some logger: it continues nothing


_SOURCES = (".py", ".cc", ".cpp", ".cu", ".c", ".h")  # what `[train.py:31] ` begins with


# Put there by whoever carried the line: before every line, also inside a traceback.
_RANK = r"\[(?:\d{1,6},)?(?P<rank>\d{1,6})\]<(?P<stream>stdout|stderr|stddiag)>: ?"
_CARRIERS: Final = (
    rf"^{DATE}T{CLOCK}(?P<zone>Z|[+-]\d\d:\d\d)(?: (?P<stream>stdout|stderr) [FP])? ",
    rf"^{WEEKDAY} {MONTH_DAY} {CLOCK} (?P<year>\d{{4}}){_RANK}",
    rf"^{_RANK}",
    r"^\[(?i:rank)[ _-]?(?P<rank>\d{1,6})\]:? ?",
    r"^\[(?P<rank>\d{1,5})\]: ?(?P<rest>\S)",
    r"^\[[a-z_]{1,30}?(?P<rank>\d{1,4})\]:",
    r"^\[(?P<name>[a-z][a-z0-9_.-]{0,80}[-_:]\d{1,6})\]:? ?",
    r"^\[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,63}\] ?",
    r"^(?P<pod>[A-Za-z0-9][\w.:/-]{0,120}?) {0,60}(?:\||│) ?",
    rf"^\((?P<actor>[A-Za-z_][\w.:<>-]{{0,80}} pid=\d+)(?:, ip={_HOST})?(?:, [^)]{{0,80}})?\) ?",
    rf"^{_LEVEL}\|{DATE}[ T]{CLOCK}\|[^|]{{0,200}}\|\d{{1,6}}\| ?",
)
# Of srun --label and of pdsh; where not every line has one, a number is only a number.
_LABEL = Pattern(r"^ {0,6}(?:(?P<rank>\d{1,6})|(?P<host>[A-Za-z\d][\w.-]*[-.\d][\w.-]*)): ?")
# Put there by a logger: the first line of a record has it.
_SINCE = rf"0000 00:00:(?P<unix>\d{{9,10}}\.\d{{1,9}})|(?P<monthday>[01]\d[0-3]\d) {CLOCK}"
_THREAD = rf"{_HOST}:\d{{1,9}}:\d{{1,9}} \[-?\d{{1,3}}\] "
_RECORDS: Final = (
    rf"^\[?(?P<level>[IWEFD])(?:{_SINCE})\s+(?:\d+\s+)?{_FILE}\]\s?",
    rf"^\[{DATE}[ T]{CLOCK}[:,]? (?:(?P<short>[IWEF])|{_LEVEL})[ :][^\]]{{0,300}}\] ?",
    rf"^\w{{1,30}} {_LEVEL} \({DATE} {CLOCK}\) - ",
    rf"^\[?{DATE}[ T_]{CLOCK}{ZONE}?\]?(?:\s?[:|,-])?\s{{0,8}}",
    rf"^\[?(?P<date>\d\d[-/]\d\d[-/]\d\d) {CLOCK}\]?(?: ?[:|-])?\s{{0,8}}",
    r"^\[?(?P<unix>1\d{9}\.\d{1,9})\]?[ :,]\s{0,8}",
    rf"^\[?{WEEKDAY} {MONTH_DAY} {CLOCK} (?P<year>\d{{4}})\]? ?",
    rf"^{MONTH_DAY} {CLOCK} {_HOST} [\w./@()-]{{1,80}}(?:\[\d+\])?: ?",
    rf"^{_LEVEL}:[A-Za-z_][\w.]{{0,100}}:",
    r"^\[?(?P<level>[IWEF]) [\w./+@-]{1,200}\.(?:cc|cpp|cu|h|hpp|c):\d{1,6}\] ?",
    rf"^\[libprotobuf {_LEVEL} [^\]]{{1,200}}\] ?",
    rf"^{_THREAD}(?:[\w./]{{1,100}}:\d{{1,6}} )?(?:NCCL )?{_LEVEL} ?",
    rf"^{_THREAD}",
    r"^\[(?P<host>[\w.-]*[A-Za-z][\w.-]*):\d{2,9}\] ",
    r"^\[ {0,6}\d{1,9}\.\d{6}\] ",
    rf"^(?:- )?[A-Za-z_][\w.]{{0,100}} - \[?{_LEVEL}\]? - ",
    rf"^[A-Za-z_][\w.]{{0,100}}: \[{_LEVEL}\] ",
    rf"^{_HOST} (?:kernel|systemd|slurmd|slurmstepd)(?:\[\d+\])?: ",
)
# It says how bad it is, and no more: what follows may as well be part of something longer.
_REMARKS: Final = (rf"^(?:- )?\[?{_LEVEL}\]?(?:\s?[:|>-]|\s|$)\s{{0,8}}",)
# What a launcher says of a host is its own word, and stays.
_LAUNCHER = Pattern(
    r"^(?:slurmstepd|srun|slurmd|sbatch|salloc|mpirun|mpiexec|prterun)[\w.-]{0,80}:"
    rf" (?:error|fatal):(?: {_HOST}: tasks? )?"
)
_PREFIXES: Final = (*_CARRIERS, *_RECORDS, *_REMARKS)
_FIRST_RECORD: Final = len(_CARRIERS)
_FIRST_REMARK: Final = _FIRST_RECORD + len(_RECORDS)
_COMPILED: Final = tuple(map(Pattern, _PREFIXES))


def said_in(line: str, *, labelled: bool = False) -> Said:
    """What a line says. `labelled`: every line of its file begins with a number and a colon."""
    text = without_escapes(line)
    said = Said(text=text, carried=text, whole=text)
    if labelled and (found := _LABEL.search(text[:LOOKED_AT_MAX])):
        groups = {**found.groupdict(), "actor": found.group("host")}
        said = _with(said, groups, text[found.end() :], place=0)
    for _ in range(ROUNDS_MAX):
        further = _json(said) or _next(said)
        if further is None:
            break
        said = further
    if found := _LAUNCHER.search(said.text[:LOOKED_AT_MAX]):
        said = replace(said, level="E", host=found.group("host") or said.host)
    return said


def is_labelled(lines: Sequence[str]) -> bool:
    """Whether all these lines, and there are some, begin with one of few numbers or hosts."""
    whole = [line[:LOOKED_AT_MAX] for line in lines if line.strip()]
    if len(whole) < LABELLED_MIN:
        return False
    labels: set[str] = set()
    for line in whole:
        found = _LABEL.search(line)
        if found is None:
            return False
        labels.add(found.group(0))
    return len(labels) < len(whole)


@cache
def _which() -> WhichOf:
    return WhichOf(_COMPILED)


def _next(said: Said) -> Said | None:
    """With one prefix less; None where there is none."""
    head = said.text[:LOOKED_AT_MAX]
    if not head or head[0] in " \t":
        return None
    for place in _which().matching(head):
        found = _COMPILED[place].search(head)
        groups = found.groupdict()
        if _is_one(groups):
            rest = len(groups.get("rest") or "")
            return _with(said, groups, said.text[found.end() - rest :], place=place)
    return None


def _is_one(groups: Mapping[str, str | None]) -> bool:
    """Whether a word before a bar or in brackets is a name: of a task, one of several, a host."""
    if (groups.get("host") or "").endswith(_SOURCES):
        return False
    name, pod = groups.get("name"), groups.get("pod")
    word = name or pod or ""
    numbered = bool(pod) and word[-1].isdigit()
    return not word or numbered or task_in_name(word) is not None


def _with(said: Said, groups: Mapping[str, str | None], text: str, *, place: int) -> Said:
    at = seconds_in(groups)
    rank = groups.get("rank")
    name = groups.get("name") or groups.get("pod") or groups.get("actor") or ""
    who = f"rank{rank}" if rank else name
    level = groups.get("level") or groups.get("short") or ""
    carrier = place < _FIRST_RECORD and not said.is_record
    return Said(
        text=text,
        at_unix_s=_better(said.at_unix_s, at),
        is_local=said.is_local if _better(said.at_unix_s, at) is not at else _is_local(groups),
        level=_LEVELS.get(level, said.level),
        task=(task_in_name(who) if who else None) or said.task,
        host=said.host or groups.get("host") or "",
        speaker=f"{said.speaker} {who}".strip() if carrier else said.speaker,
        stream=said.stream or (groups.get("stream") or "").removeprefix("std"),
        carried=text if carrier else said.carried,
        whole=said.whole,
        is_record=said.is_record or _FIRST_RECORD <= place < _FIRST_REMARK,
    )


def _is_local(groups: Mapping[str, str | None]) -> bool:
    return bool(groups.get("clock")) and not groups.get("zone")


def _better(known: float | None, at: float | None) -> float | None:
    """The outer time counts, as it often has a zone, unless only the inner one has a year."""
    if known is None or (at is not None and is_dated(at) and not is_dated(known)):
        return at
    return known


def _json(said: Said) -> Said | None:
    """A record in JSON: what it says is looked at again."""
    if said.text[:1] != "{" or (record := record_in(said.text)) is None:
        return None
    return replace(
        said,
        text=record.text,
        carried=record.text,
        whole=record.text,
        at_unix_s=_better(said.at_unix_s, record.at_unix_s),
        is_local=said.is_local and not record.at_unix_s,
        level=_LEVELS.get(record.level, said.level),
        task=task_in_name(record.name) or said.task,
        host=said.host or record.host,
        speaker=f"{said.speaker} {record.name}".strip(),
        stream=said.stream or record.stream.removeprefix("std"),
    )
