"""The storage of the checkpoints stops answering; whoever writes there waits for ever."""

from bench.blows import frozen_disk
from bench.fault import told
from bench.strike import STUCK_S, STUCK_STEPS, Strike, struck
from bench.surroundings import loop_disk

strike = Strike(
    says={
        "mirrored": struck("stuck-on-storage"),
        # Variables are saved by whoever holds them.
        "parameter_server": told("stuck-on-storage", "ps:0", "chief:0"),
        "session": told("stuck-on-storage", "ps:0", "worker:0"),
    },
    do=frozen_disk,
    around=loop_disk,
    within_s=STUCK_S + 4,  # the next checkpoint begins some seconds after the strike
    within_steps=STUCK_STEPS,
    needs=(
        "mount",
        "mkfs.ext4",
        "fsfreeze",
    ),
)
