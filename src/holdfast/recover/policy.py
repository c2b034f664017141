"""How far we may go by ourselves: what a person allowed, and what the back end can do."""

from dataclasses import dataclass
from enum import StrEnum


class OnFailure(StrEnum):
    STOP = "stop"
    RECOVER = "recover"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    on_failure: OnFailure = OnFailure.RECOVER
    relaunches_max: int = 3  # of one job, over all its attempts
    restarts_max: int = 3  # of one task; then the whole job is relaunched
    replaces_hosts: bool = False  # whether the back end can start a task on another host
