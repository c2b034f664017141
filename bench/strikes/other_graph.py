"""One task has a variable more than the others, so their collectives do not fit."""

from bench.fault import told
from bench.strike import STRUCK, Since, Strike, struck

strike = Strike(
    says={"mirrored": told("collective-mismatch", STRUCK, None), "*": struck("user-exception")},
    options=("--differ", "graph", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
