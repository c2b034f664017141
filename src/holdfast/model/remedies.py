"""What would help against a cause."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relaunch:
    """Start a new attempt of the whole job from its last good checkpoint."""

    fresh_ports: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceHost:
    """Start a new attempt without the host that is to blame."""


@dataclass(frozen=True, slots=True)
class WaitAndSee:
    """It may go over by itself; if it does not, start a new attempt."""


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Stop and say what to change: no relaunch can fix this."""


Remedy = Relaunch | ReplaceHost | WaitAndSee | AskHuman
