"""The storage of the checkpoints stops answering; whoever writes there waits for ever."""

from bench.blows import frozen_disk
from bench.strike import STUCK_S, STUCK_STEPS, Strike, struck
from bench.surroundings import loop_disk

strike = Strike(
    says={"*": struck("stuck-on-storage")},
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
