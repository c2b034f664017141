"""One task has a variable more than the others: collectives do not fit, or it waits for ever."""

from bench.fault import told
from bench.strike import STRUCK, Since, Strike, struck

strike = Strike(
    says={"mirrored": told("collective-mismatch", STRUCK, None), "*": struck("graph-differs")},
    options=("--differ", "graph", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
