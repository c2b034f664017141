"""One task reads labels of another type than the others: its own step cannot be built."""

from bench.strike import Since, Strike, struck

strike = Strike(
    says={"*": struck("dtype-mismatch user-exception")},
    options=("--differ", "element", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
