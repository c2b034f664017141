"""What would help against a cause."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relaunch:
    """Start a new attempt of the whole job from its last good checkpoint."""

    fresh_ports: bool = False


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Stop and say what to change: no relaunch can fix this."""


Remedy = Relaunch | AskHuman
