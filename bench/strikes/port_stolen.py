"""A stranger listens where a task should, when it starts."""

from bench.strike import DEATH_S, Since, Strike, struck
from bench.surroundings import stolen_port

strike = Strike(
    says={"*": struck("port-conflict")},
    around=stolen_port,
    within_s=DEATH_S,
    since=Since.DEATH,
)
