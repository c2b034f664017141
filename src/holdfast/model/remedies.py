"""What would help against a cause."""

from dataclasses import dataclass

WAITS_S = (5.0, 10.0, 20.0, 40.0, 80.0)  # one after the other: then it does not go over by itself
CUT_WAITS_S = (5.0, 10.0, 20.0)  # a switch that starts again, a link that is plugged in elsewhere


@dataclass(frozen=True, slots=True)
class Relaunch:
    """Start a new attempt of the whole job from its last good checkpoint."""

    fresh_ports: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceHost:
    """Start a new attempt without the host that is to blame, if it does not come back soon."""

    waits_s: tuple[float, ...] = CUT_WAITS_S


@dataclass(frozen=True, slots=True)
class WaitAndSee:
    """It may go over by itself; if it does not, start a new attempt."""

    waits_s: tuple[float, ...] = WAITS_S
    culprit_stands: bool = False  # it does nothing while this lasts, even where the others train on


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Stop and say what to change: no relaunch can fix this."""


Remedy = Relaunch | ReplaceHost | WaitAndSee | AskHuman
