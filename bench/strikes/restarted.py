"""A task dies and is started again by a wrapper; what it held in memory is lost."""

from bench.blows import signalled
from bench.fault import SILENT
from bench.strike import STUCK_S, Strike, struck
from bench.surroundings import started_again

strike = Strike(
    # The chief of a coordinator takes a worker back, and trains on.
    says={"parameter_server/worker": SILENT, "*": struck("restarted")},
    do=signalled("SIGKILL"),
    around=started_again,
    within_s=STUCK_S,
    watch_s=30.0,
)
