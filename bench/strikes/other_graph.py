"""One task has a variable more than the others, so their collectives do not fit."""

from bench.strike import Since, Strike, struck

strike = Strike(
    says={"mirrored": struck("collective-mismatch"), "*": struck("user-exception")},
    options=("--differ", "graph", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
