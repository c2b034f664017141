"""SIGSTOP, and nobody says SIGCONT."""

from bench.blows import signalled
from bench.strike import STOPPED_S, Strike, struck

strike = Strike(says={"*": struck("stopped")}, do=signalled("SIGSTOP"), within_s=STOPPED_S)
