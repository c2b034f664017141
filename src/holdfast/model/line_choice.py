"""Which lines of a task are shown while it runs. The files have all of them.

Nobody's own words are left out unless asked for: noise is folded only in a record of a library, in
the shape that no `print` of a program has.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.model.log_prefix import said_in
from holdfast.model.noise import is_noise
from holdfast.model.pattern import Pattern
from holdfast.model.steps import steps_told

SHOW_ALL, SHOW_DEFAULT = "all", "info"
SHOW: Final = (SHOW_ALL, SHOW_DEFAULT, "warning", "error")
_LEAST: Final = {SHOW_DEFAULT: 0, "warning": 1, "error": 2}
_LEVELS: Final = {"I": 0, "W": 1, "E": 2, "F": 2}
_SOURCE = r"[\w./+@-]{1,200}\.(?:cc|cpp|cu|cuh|h|hpp|c):\d{1,6}\]"
# How TensorFlow, XLA and gRPC write, since 2.17 and before; and two lines that have no prefix.
_RUNTIME = (
    rf"^[IWEF]\d{{4}} \d\d:\d\d:[\d.]+ +\d+ {_SOURCE}"
    rf"|^(?:\d{{4}}-\d\d-\d\d \d\d:\d\d:[\d.]+: )?[IWEF] {_SOURCE}"
    r"|^WARNING: All log messages before absl::InitializeLog\(\) is called"
    r"|^To enable the following instructions: [A-Z0-9_. ,]+ in other operations, rebuild"
)
_TENSORFLOW = Pattern(rf"{_RUNTIME}|^(?:DEBUG|INFO|WARNING|ERROR|FATAL):tensorflow:")
_LIBRARY = Pattern(
    rf"{_TENSORFLOW.text}|^(?:DEBUG|INFO|WARNING|ERROR):(?:absl|jax|torch|numexpr|matplotlib)[\w.]*:"
    r"|^[IWE]\d{4} \d\d:\d\d:[\d.]+ +\d+ xla_bridge\.py:\d+\]"
    rf"|^\[(?:rank\d+\]:?\[)?[IWE][^\]]{{0,80}} {_SOURCE}"
    r"|^[\w.-]+:\d+:\d+ \[\d+\] (?:\S+:\d+ )?NCCL (?:INFO|WARN) "
    r"|^\[libprotobuf |^SLF4J: |^log4j:WARN |^libibverbs: "
)
# What TensorFlow prints of its settings goes on for many lines, without a prefix.
_DUMPS = Pattern(r"goo\.gle/debug")
_GOES_ON = Pattern(r'^(?: *[a-z]\w* \{| *\}| *[a-z]\w*: (?:"[^"]*"|[\w.+-]+)|)$')
NOISE, LEVEL, TENSORFLOW = "noise", "level", "tensorflow"


@dataclass(frozen=True, slots=True)
class LineChoice:
    """What somebody wants to see."""

    show: str = SHOW_DEFAULT  # one of SHOW
    quiet_tensorflow: bool = False


BY_DEFAULT: Final = LineChoice()


@dataclass(slots=True)
class ChosenLines:
    """One stream of one task, line by line."""

    choice: LineChoice
    _dumps: bool = False  # whether settings are printed that are not shown

    def why_hidden(self, line: str) -> str:
        """Why a line is left out; empty: it is shown."""
        if self._dumps and _GOES_ON.search(line):
            self._dumps = bool(line)
            return TENSORFLOW
        why = _why_hidden(line, self.choice)
        self._dumps = why == TENSORFLOW and _DUMPS.search(line) is not None
        return why


def _why_hidden(line: str, choice: LineChoice) -> str:
    if choice.show != SHOW_ALL and is_noise(line) and _LIBRARY.search(line):
        return NOISE
    if choice.quiet_tensorflow and _TENSORFLOW.search(line) and _is_calm(line):
        return TENSORFLOW
    least = _LEAST.get(choice.show, 0)
    return LEVEL if least and _LEVELS.get(said_in(line).level, least) < least else ""


def _is_calm(line: str) -> bool:
    """Whether it is no error, and tells no step of the training."""
    level = _LEVELS.get(said_in(line).level, 0)
    return level < _LEAST["error"] and steps_told(line.encode() + b"\n").step < 0
