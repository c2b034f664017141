"""One task has a variable of another shape than the others."""

from bench.strike import Since, Strike, struck

strike = Strike(
    says={"mirrored": struck("collective-mismatch"), "*": struck("user-exception")},
    options=("--differ", "shape", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
