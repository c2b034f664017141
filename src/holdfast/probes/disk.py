"""How much room is left where a job writes."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    free_bytes: int
    total_bytes: int
    free_inodes: int  # -1 where the file system does not count them


def room_at(path: str) -> Room | None:
    """For a user without special rights, as a task would find it."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return Room(
        free_bytes=found.f_bavail * found.f_frsize,
        total_bytes=found.f_blocks * found.f_frsize,
        free_inodes=found.f_favail if found.f_files else -1,
    )
