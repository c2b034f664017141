"""Other people's programs take the cores."""

from bench.blows import hogged
from bench.fault import told
from bench.strike import SLOW_S, SLOW_STEPS, Strike

strike = Strike(
    says={"*": told("cpu-starved", "worker:0", "worker:1", "worker:2")},
    do=hogged,
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
    live=False,  # whether the training suffers is not known for sure
)
